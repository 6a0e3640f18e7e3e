import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyFile, sessionsFolder } from '../../chat/session-path.ts';
import { promptsFolder } from '../../cli/input/named-prompts.ts';
import { budgetsFolder } from '../../cli/run/budget.ts';
import type { CommandOutcome, Context } from '../../cli/context.ts';
import { configPath, stateFolder, userFolders } from '../../settings/config-file.ts';
import { settings } from '../../settings/table.ts';
import { addressNames, keyNames } from '../../settings/vendor-variables.ts';
import { escapeLine } from '../../terminal/escape.ts';
import { alignColumns } from '../../terminal/break-lines.ts';
import { serviceNames } from '../../vendors/services.ts';

interface Place {
  path: string;
  does: 'reads' | 'reads and writes';
  holds: string;
  exists: boolean;
}

/** Variables that are read beside those of the settings and of the services. */
const systemVariables = [
  'HOME USERPROFILE XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME TMPDIR PATH PATHEXT PWD',
  'GATEWAY_CONFIG HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy',
  'NODE_EXTRA_CA_CERTS NODE_TLS_REJECT_UNAUTHORIZED CI GITHUB_ACTIONS VITEST NO_COLOR FORCE_COLOR',
  'CLICOLOR CLICOLOR_FORCE COLORTERM TERM TERM_PROGRAM LC_TERMINAL KITTY_WINDOW_ID WT_SESSION STY TMUX',
  'PAGER',
].flatMap((names) => names.split(' '));

/** `doctor --files`: what is read and written without being named on the command line. */
export async function listFiles({ io, root }: Context): Promise<CommandOutcome> {
  const [config, state, { cache }] = await Promise.all([configPath(io), stateFolder(), userFolders()]);
  const named: [string, Place['does'], string][] = [
    [config, 'reads and writes', 'settings and profiles; a key, if you chose so'],
    [await promptsFolder(io), 'reads', 'prompts by name'],
    [await sessionsFolder(), 'reads and writes', `conversations with a name; typed lines in ${historyFile}`],
    [await budgetsFolder(), 'reads and writes', 'budgets that runs share'],
    [join(state, 'recovered'), 'reads and writes', 'paid replies that could not be written'],
    [join(cache, 'models'), 'reads and writes', 'lists of models, for a day'],
    [join(cache, 'lessons'), 'reads and writes', 'what services taught, for a day'],
    [tmpdir(), 'reads and writes', 'copies of pipes, and paid replies where the state folder takes none'],
  ];
  const places = await Promise.all(
    named.map(async ([path, does, holds]): Promise<Place> => ({ path, does, holds, exists: await isThere(path) })),
  );
  const known = new Set([...settingVariables(), ...serviceNames.flatMap(vendorVariables), ...systemVariables]);
  const variables = [...known].filter((name) => (io.env[name] ?? '') !== '').toSorted();
  const document = { schema: 'gateway-cli/files@1', files: places, variables, telemetry: false };
  if (root.json) return { document };
  const rows = places.map(({ path, does, holds, exists }) => [
    escapeLine(path),
    does,
    exists ? holds : `${holds} (not there)`,
  ]);
  const lines = [
    ...alignColumns(rows),
    '',
    `Variables that are set: ${variables.length === 0 ? 'none' : variables.join(', ')}`,
    'Beside these, only the files, folders and URLs that you name. There is no telemetry.',
  ];
  await io.stdout.write(`${lines.join('\n')}\n`);
  return { document };
}

const vendorVariables = (service: (typeof serviceNames)[number]): string[] => [
  ...keyNames(service),
  ...addressNames(service),
];

function settingVariables(): string[] {
  return Object.values(settings).flatMap((setting) =>
    'variables' in setting ? Object.values(setting.variables).flat() : [],
  );
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}
