import { Command } from 'commander';
import { wordsOf } from './commands/argv.ts';
import type { Action, Configure } from './commands/context.ts';
import { addFlags } from './commands/flags/flag.ts';
import { rootFlags } from './commands/flags/shared.ts';
import { formatHelp, setExamples, setNotes } from './commands/help.ts';
import { hintingAtReply } from './commands/reply-hint.ts';
import { throwFound } from './commands/usage-error.ts';
import { version } from './version.ts';

interface Entry {
  summary: string;
  /** Runs where the group's words name no other; its flags are always known. */
  isDefault?: true;
  /** For machines alone: in no help. */
  hidden?: true;
  /** Runs only for the command that is asked for: nobody pays for the flags and imports of another. */
  load?: () => Promise<Configure>;
  commands?: Tree;
}

type Tree = Readonly<Record<string, Entry>>;

/** All commands by their names. */
export const tree: Tree = {
  text: { summary: 'text in, text out', load: async () => (await import('./commands/text.ts')).textCommand },
  image: {
    summary: 'make and edit images',
    commands: {
      gen: {
        summary: 'prompt in, image files out',
        load: async () => (await import('./commands/image/gen.ts')).imageGenCommand,
      },
      edit: {
        summary: 'images and an instruction in, image files out',
        load: async () => (await import('./commands/image/edit.ts')).imageEditCommand,
      },
    },
  },
  chat: {
    summary: 'messages in, the answer streamed as it comes',
    load: async () => (await import('./commands/chat.ts')).chatCommand,
  },
  sessions: {
    summary: 'the conversations that chat kept',
    commands: {
      list: {
        summary: 'name, last change, messages and first prompt of each',
        load: async () => (await import('./commands/sessions.ts')).sessionsListCommand,
      },
      show: {
        summary: 'print a conversation to read',
        load: async () => (await import('./commands/sessions-show.ts')).sessionsShowCommand,
      },
      export: {
        summary: 'print a conversation as Markdown',
        load: async () => (await import('./commands/sessions-show.ts')).sessionsExportCommand,
      },
      rm: {
        summary: 'remove conversations',
        load: async () => (await import('./commands/sessions.ts')).sessionsRemoveCommand,
      },
    },
  },
  recover: {
    summary: 'write out a paid reply that could not be written before',
    load: async () => (await import('./commands/recover.ts')).recoverCommand,
  },
  serve: {
    summary: 'the local gateway: both formats on loopback, offline',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  config: {
    summary: 'read and write settings',
    commands: {
      init: {
        summary: 'ask for a profile and write it',
        load: async () => (await import('./commands/config/init.ts')).configInitCommand,
      },
      path: {
        summary: 'print where the config file is',
        load: async () => (await import('./commands/config/read.ts')).configPathCommand,
      },
      list: {
        summary: 'print every setting with its origin, keys redacted',
        load: async () => (await import('./commands/config/read.ts')).configListCommand,
      },
      get: {
        summary: 'print one setting',
        load: async () => (await import('./commands/config/read.ts')).configGetCommand,
      },
      set: {
        summary: 'write one setting; - reads it from stdin or asks',
        load: async () => (await import('./commands/config/write.ts')).configSetCommand,
      },
      unset: {
        summary: 'remove one setting',
        load: async () => (await import('./commands/config/write.ts')).configUnsetCommand,
      },
      use: {
        summary: 'choose the profile in use',
        load: async () => (await import('./commands/config/write.ts')).configUseCommand,
      },
    },
  },
  batch: {
    summary: 'many requests from a file: parallel, resumable, each paid for once',
    commands: {
      run: {
        summary: 'run the jobs of a file (the default)',
        isDefault: true,
        load: async () => (await import('./commands/batch.ts')).batchRunCommand,
      },
      status: {
        summary: 'tell where a batch stands',
        load: async () => (await import('./commands/batch/status.ts')).batchStatusCommand,
      },
      merge: {
        summary: 'join the folders of all shards',
        load: async () => (await import('./commands/batch/merge.ts')).batchMergeCommand,
      },
      gallery: {
        summary: 'write a page with all pictures and texts',
        load: async () => (await import('./commands/batch/gallery.ts')).batchGalleryCommand,
      },
    },
  },
  doctor: {
    summary: 'check the set-up and say how to mend it',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  completion: {
    summary: 'print a completion script for a shell',
    load: async () => (await import('./commands/completion.ts')).completionCommand,
  },
  __complete: {
    summary: 'what can stand at the cursor',
    hidden: true,
    load: async () => {
      const { completeCommand } = await import('./commands/completion.ts');
      return (command) => completeCommand(command, (words) => buildProgram(words, silent));
    },
  },
};

/** What commander's callbacks lead to. */
export interface Hooks {
  act(action: Action, command: Command): Promise<void>;
  out(text: string): void;
  err(text: string): void;
}

const silent: Hooks = { act: async () => undefined, out: () => undefined, err: () => undefined };

/** The program with every command's name, and the flags of those whose words stand in argv. */
export async function buildProgram(argv: readonly string[], hooks: Hooks): Promise<Command> {
  const full = argv.some((word) => word === '--verbose' || word === '-v');
  const program = new Command('gateway-cli')
    .description('The command line of a generation gateway: text, images and chat for scripts, CI jobs and pipes.')
    .usage('<command> [words…] [flags]')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .enablePositionalOptions()
    .showSuggestionAfterError(true)
    .configureOutput({ writeOut: hooks.out, writeErr: hooks.err, outputError: () => undefined })
    .configureHelp({ formatHelp: (command) => formatHelp(command, { full }) });
  program.exitOverride((error) => throwFound(error, program));
  setExamples(program, rootExamples);
  setNotes(program, rootNotes);
  addFlags(program, 'Everywhere', rootFlags);
  await addTree(program, tree, { words: wordsOf(argv), hooks });
  return program;
}

const rootExamples = [
  'gateway-cli text --offline "three names for a lighthouse cat"',
  'gateway-cli image gen --prompt "a lighthouse at dusk" --aspect 16:9 -o dusk.png',
  'git diff | gateway-cli chat "write a commit message"',
];

const rootNotes = [
  'Codes: 0 done, 2 usage, 3 key, 4 rejected, 5 quota, 6 gateway, 7 not sent, 8 no reply, 9 bad reply, 10 nothing usable,',
  '11 incomplete, 12 not written. They never change meaning; an unknown one is a failure.',
  'Try it without an account: add --offline to text, image or chat.',
];

async function addTree(parent: Command, entries: Tree, at: { words: readonly string[]; hooks: Hooks }): Promise<void> {
  const [word, ...rest] = at.words;
  for (const [name, entry] of Object.entries(entries)) {
    const command = parent
      .command(name, { hidden: entry.hidden ?? false, isDefault: entry.isDefault ?? false })
      .summary(entry.summary)
      .description(entry.summary)
      .enablePositionalOptions();
    command.helpOption('-h, --help', 'print this help');
    if (name !== word && !entry.isDefault) continue;
    command.exitOverride((error) => throwFound(error, command));
    if (entry.commands) {
      addFlags(command, 'Everywhere', rootFlags);
      command.usage('<command> [words…] [flags]');
      await addTree(command, entry.commands, { words: rest, hooks: at.hooks });
    }
    if (!entry.load) continue;
    const action = hintingAtReply((await entry.load())(command));
    addFlags(command, 'Everywhere', rootFlags);
    command.action(() => at.hooks.act(action, command));
  }
}
