import type { Command } from 'commander';
import { usageError } from '../../errors.ts';
import { configPath } from '../../settings/folders.ts';
import { readConfig } from '../../settings/file.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { configDocument, type Opened, openConfig } from './file.ts';
import { keysText, requireKey, settingCommand } from './keys.ts';
import { rowName, type SettingRow, settingRows, type SurveyPlace } from '../../settings/survey.ts';
import type { Action, Context } from '../../cli/context.ts';
import { setExamples, setNotes } from '../../cli/help/help.ts';

/** `config path`: where the file is, or would be. */
export function configPathCommand(command: Command): Action {
  command.usage('[flags]');
  setExamples(command, ['gateway-cli config path', '"$EDITOR" "$(gateway-cli config path)"']);
  return async ({ io, root, report }) => {
    const path = await configPath({ env: io.env, cwd: io.cwd });
    if (root.json) {
      const { exists, config } = await readConfig(path);
      report.own = { schema: 'gateway-cli/config@1', ok: true, path, exists, profile: config.profile };
    } else await io.stdout.write(`${path}\n`);
  };
}

/** `config list`: every setting with its origin, keys redacted. */
export function configListCommand(command: Command): Action {
  command.usage('[flags]');
  setNotes(command, ['--verbose adds the defaults of settings that the service in use does not look at.']);
  setExamples(command, ['gateway-cli config list', 'gateway-cli config list --profile work --json | jq .settings']);
  return async (context) => {
    const opened = await openConfig(context);
    const rows = surveyOf(context, opened.loaded, context.root.json || context.root.verbose ? 'all' : 'used');
    const profiles = Object.keys(opened.loaded.config.profiles);
    if (context.root.json) {
      const settings = Object.fromEntries(rows.flatMap(entriesOf));
      context.report.own = configDocument(opened, { exists: opened.loaded.exists, profiles, settings });
      return;
    }
    const names =
      profiles.length === 0 ? [] : [{ key: 'profiles', value: profiles.join(', '), from: opened.loaded.path }];
    await context.io.stdout.write(table([...names, ...rows]));
  };
}

/** `config get <key>`: the value that a command would use; nothing of a key. */
export function configGetCommand(command: Command): Action {
  command.argument('<key>', 'such as models.text').usage('<key> [flags]');
  setExamples(command, ['gateway-cli config get baseUrl', 'gateway-cli config get models.image --profile work']);
  setNotes(command, [`Keys: ${keysText}`]);
  return async (context, [key = '']) => {
    const opened = await openConfig(context);
    const name = requireKey(key).startsWith('headers.') ? key.toLowerCase() : key;
    const rows = surveyOf(context, opened.loaded).filter((row) => row.key === name);
    const [found] = rows;
    if (found?.uses !== undefined) throw differsByUse(rows, opened);
    if (found === undefined) throw usageError(`${key} is not set`, `set it: ${settingCommand(key)}`);
    if (context.root.json) context.report.own = configDocument(opened, { key, value: found.value, from: found.from });
    else await context.io.stdout.write(`${String(found.value)}\n`);
  };
}

/** For scripts: `baseUrl`, or `baseUrl.text` and so on where uses differ. */
function entriesOf({ key, uses, value, from }: SettingRow): [string, Omit<SettingRow, 'key' | 'uses'>][] {
  const keys = uses === undefined ? [key] : uses.map((use) => `${key}.${use}`);
  return keys.map((name) => [name, { value, from }]);
}

function differsByUse(rows: readonly SettingRow[], { profile }: Opened): Error {
  const values = rows.map((row) => `${rowName(row)} is ${escapeLine(String(row.value))}`);
  const names = typeof profile === 'object' ? [...new Set(Object.values(profile))] : [];
  const hint = names.map((name) => `--profile ${name}`).join(', or ');
  return usageError(`uses differ: ${values.join('; ')}`, hint === '' ? undefined : `say which: ${hint}`);
}

function surveyOf(
  { io, root }: Context,
  config: SurveyPlace['config'],
  which?: Parameters<typeof settingRows>[1],
): SettingRow[] {
  return settingRows({ flags: { profile: root.profile }, env: io.env, config }, which);
}

/** Columns: key, value, origin in brackets. */
export function table(rows: readonly SettingRow[]): string {
  const width = Math.max(...rows.map((row) => rowName(row).length));
  const shown = rows.map(
    (row) => `${rowName(row).padEnd(width)}  ${escapeLine(String(row.value))}  (${escapeLine(row.from)})\n`,
  );
  return shown.join('');
}
