import { Argument, type Command } from 'commander';
import { findOwn, usageError } from '../../../library/index.ts';
import type { Action } from '../../context.ts';
import { quoteWord, setExamples } from '../../flags/flag.ts';

/** `completion <shell>`: prints the script that a shell loads. */
export function completionCommand(command: Command): Action {
  const shells = Object.keys(scripts);
  const argument = new Argument('<shell>', shells.join(', '));
  argument.argChoices = shells;
  command.addArgument(argument).usage('<bash|zsh|fish|powershell> [flags]');
  setExamples(command, [
    'eval "$(gateway-cli completion bash)"          # in ~/.bashrc',
    'source <(gateway-cli completion zsh)           # in ~/.zshrc, after compinit',
    'gateway-cli completion fish | source           # in ~/.config/fish/config.fish',
    'gateway-cli completion powershell | Out-String | Invoke-Expression',
  ]);
  return async ({ io, root }, [shell = '']) => {
    const script = findOwn(scripts, shell);
    if (script === undefined)
      throw usageError(
        `completion does not support ${quoteWord(shell)}`,
        `name one of these shells: ${shells.join(', ')}`,
      );
    if (root.json) return { document: { schema: 'gateway-cli/completion@1', shell, script } };
    return io.stdout.write(script);
  };
}

/**
 * Each script runs `__complete` at every TAB. The reply has lines of `value<TAB>text`, and a last line `:files` or `:none`, which
 * says whether the shell adds file names.
 */
const scripts: Readonly<Record<string, string>> = {
  bash: `# gateway-cli completion for bash: eval "$(gateway-cli completion bash)" in ~/.bashrc
_gateway_cli() {
  local line rest=
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) rest=$line ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("$1" __complete bash "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
  if [[ $rest == :files ]] && { [[ \${COMPREPLY[0]-} ]] || ! compopt -o default 2>/dev/null; }; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "\${COMP_WORDS[COMP_CWORD]}")
  fi
  case \${COMPREPLY[0]-} in
    *[=:]) compopt -o nospace 2>/dev/null ;;
  esac
}
complete -F _gateway_cli gateway-cli
`,
  zsh: `#compdef gateway-cli
# gateway-cli completion for zsh: source <(gateway-cli completion zsh) after compinit in ~/.zshrc
_gateway_cli() {
  local line rest=none
  local -a values shown open
  for line in "\${(@f)$("$words[1]" __complete zsh -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null)}"; do
    case $line in
      (:*) rest=\${line#:} ;;
      ('') ;;
      (*[:=]) open+=("$line") ;;
      (*) values+=("\${line%%$'\\t'*}"); shown+=("\${line/$'\\t'/  -- }") ;;
    esac
  done
  [[ $PREFIX == --*=* ]] && compset -P '*='
  (( $#values )) && compadd -l -d shown -a values
  (( $#open )) && compadd -S '' -a open
  [[ $rest == files ]] && _files
  return 0
}
if [[ "\${funcstack[1]}" == _gateway_cli ]]; then _gateway_cli "$@"; else compdef _gateway_cli gateway-cli; fi
`,
  fish: `# gateway-cli completion for fish: gateway-cli completion fish | source in ~/.config/fish/config.fish
function __gateway_cli_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    set -e before[1]
    for line in ($program __complete fish -- $before "$current" 2>/dev/null)
        switch $line
            case ':files'
                set -l flag (string match -r -- '^--[a-z-]+=' "$current")
                for path in (__fish_complete_path (string replace -r -- '^--[a-z-]+=' '' "$current"))
                    echo "$flag$path"
                end
            case ':*' ''
            case '*'
                echo $line
        end
    end
end
complete -c gateway-cli -f -a '(__gateway_cli_complete)'
`,
  powershell: `# gateway-cli completion for PowerShell: gateway-cli completion powershell | Out-String | Invoke-Expression in $PROFILE
Register-ArgumentCompleter -Native -CommandName gateway-cli -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $line = $commandAst.Extent.Text
    $length = $cursorPosition - $commandAst.Extent.StartOffset
    $line = if ($length -lt $line.Length) { $line.Substring(0, $length) } else { $line.PadRight($length) }
    & $commandAst.GetCommandName() __complete powershell $line 2>$null | ForEach-Object {
        $value, $text = $_ -split "\`t", 2
        if ($value -notlike ':*') {
            if (-not $text) { $text = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $text)
        }
    }
}
`,
};
