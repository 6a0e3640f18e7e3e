import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Action } from '../../context.ts';
import { setExamples, setNotes } from '../../flags/flag.ts';
import { unreadableFile } from '../../input/input-files.ts';
import { findPrompt, listPrompts, promptsFolder } from '../../input/named-prompts.ts';
import { asColumn } from '../../terminal/break-lines.ts';
import { escapeLine, writeEscaped } from '../../terminal/escape.ts';

const notes = ['A prompt is a .md or .prompt.yml file in the folder prompts beside the config file.'];

/** `prompts list`: the prompts that `-t <name>` takes. */
export function promptsListCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli prompts list', 'git diff | gateway-cli text -t reviewer']);
  setNotes(command, notes);
  return async ({ io, ui, root }) => {
    const prompts = await listPrompts(io);
    if (root.json) {
      return { document: { schema: 'gateway-cli/prompts@1', prompts } };
    }
    const names = asColumn(prompts.map(({ name }) => name));
    const rows = prompts.map(({ path }, index) => `${escapeLine(`${names[index]}  ${path}`)}\n`);
    await io.stdout.write(rows.join(''));
    if (prompts.length === 0) await ui.notice(`no prompt yet: write one to ${await promptsFolder(io)}/reviewer.md`);
    return undefined;
  };
}

/** `prompts show <name>`: the file as it is. */
export function promptsShowCommand(command: Command): Action {
  command.argument('<name>', 'a prompt of the list').usage('<name> [flags]');
  setExamples(command, ['gateway-cli prompts show reviewer']);
  setNotes(command, notes);
  return async ({ io, root }, [typed = '']) => {
    const path = resolve(io.cwd, await findPrompt(typed, io));
    const text = await readFile(path, 'utf8').catch((error: unknown) => {
      throw unreadableFile('prompts show', typed, error);
    });
    if (root.json) return { document: { schema: 'gateway-cli/prompt@1', name: typed, path, text } };
    return writeEscaped(io.stdout, text);
  };
}
