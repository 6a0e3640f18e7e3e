import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyFile, sessionsFolder } from '../../chat/session-path.ts';
import type { CommandOutcome, Context } from '../../cli/context.ts';
import { promptsFolder } from '../../cli/input/named-prompts.ts';
import { budgetsFolder } from '../../cli/run/budget.ts';
import { configPath, stateFolder, userFolders } from '../../settings/config-file.ts';
import { listVariables } from '../../settings/sources.ts';
import { settingNames } from '../../settings/table.ts';
import { useNames } from '../../settings/types.ts';
import { addressNames, keyNames } from '../../settings/vendor-variables.ts';
import { alignColumns } from '../../terminal/break-lines.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Io } from '../../terminal/io.ts';
import { serviceNames, services } from '../../vendors/services.ts';

/** A file or folder that is used without being named on the command line. */
interface Place {
  path: string;
  holds: string;
  writtenBy: string;
  exists: boolean;
}

/** Variables that are read for one purpose. */
interface VariableGroup {
  variables: readonly string[];
  for: string;
}

/** `doctor --files`, for those who must approve the program: all that it reads and writes unasked. */
export async function listFiles({ io, root }: Context): Promise<CommandOutcome> {
  const files = await listPlaces(io);
  const variables = listVariableGroups();
  const isSet = (name: string): boolean => (io.env[name] ?? '') !== '';
  const set = variables.flatMap((group) => group.variables.filter(isSet)).toSorted();
  const document = { schema: 'gateway-cli/files@1', files, variables, set, telemetry: false };
  if (root.json) return { document };
  const rows = files.map(({ path, holds, writtenBy, exists }) => [
    path,
    exists ? holds : `${holds} (not there)`,
    `written by: ${writtenBy}`,
  ]);
  const lines = [
    ...alignColumns(rows),
    '',
    'Variables that are read:',
    ...alignColumns(variables.map((group) => [group.for, group.variables.join(' ')])),
    '',
    `Of these are set: ${set.length === 0 ? 'none' : set.join(', ')}`,
    'Beside these, only the files, folders and URLs that you name. There is no telemetry.',
  ];
  await io.stdout.write(lines.map((line) => `${escapeLine(line)}\n`).join(''));
  return { document };
}

/** Throws GatewayError usage without a home folder. */
async function listPlaces(io: Pick<Io, 'env' | 'cwd'>): Promise<Place[]> {
  const [config, state, { cache }] = await Promise.all([configPath(io), stateFolder(), userFolders()]);
  const sessions = await sessionsFolder();
  const asking = 'every command that asks a model';
  const places: [path: string, holds: string, writtenBy: string][] = [
    [config, 'settings and profiles; a key, if you chose so', 'config init, set, unset, use'],
    [await promptsFolder(io), 'prompts by name', 'you alone'],
    [sessions, 'conversations with a name', 'chat --session, --continue'],
    [join(sessions, historyFile), 'what you typed', 'chat on a terminal'],
    [await budgetsFolder(), 'what requests cost', 'commands with a budget'],
    [join(state, 'rates'), 'when requests were sent', 'batch --rate-group'],
    [join(state, 'recovered'), 'paid replies that could not be written', asking],
    [join(cache, 'models'), 'lists of models, for a day', 'models, doctor, batch, and what looks a model up'],
    [join(cache, 'lessons'), 'what services taught, for a day', asking],
    [tmpdir(), 'copies of pipes, and what a run needs until its end', asking],
  ];
  return Promise.all(
    places.map(async ([path, holds, writtenBy]) => ({ path, holds, writtenBy, exists: await fileExists(path) })),
  );
}

async function fileExists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined;
}

function listVariableGroups(): VariableGroup[] {
  const ofSettings = settingNames.flatMap((name) => useNames.flatMap((use) => listVariables(name, use)));
  const ofServices = serviceNames.map((name) => ({
    variables: [...new Set([...keyNames(name), ...addressNames(name)])],
    for: services[name].title,
  }));
  return [
    { variables: [...new Set([...ofSettings, 'GATEWAY_CONFIG'])], for: 'settings' },
    ...ofServices.filter(({ variables }) => variables.length > 0),
    ...otherVariables,
  ];
}

const otherVariables: readonly VariableGroup[] = [
  {
    variables: [
      'HTTPS_PROXY',
      'HTTP_PROXY',
      'ALL_PROXY',
      'NO_PROXY',
      'https_proxy',
      'http_proxy',
      'all_proxy',
      'no_proxy',
    ],
    for: 'the proxy',
  },
  { variables: ['NODE_EXTRA_CA_CERTS', 'NODE_TLS_REJECT_UNAUTHORIZED'], for: 'certificates' },
  {
    variables: [
      'HOME',
      'USERPROFILE',
      'XDG_CONFIG_HOME',
      'XDG_STATE_HOME',
      'XDG_CACHE_HOME',
      'APPDATA',
      'LOCALAPPDATA',
    ],
    for: 'your folders',
  },
  { variables: ['TMPDIR', 'TEMP', 'TMP', 'PWD', 'PATH', 'PATHEXT'], for: 'the system' },
  { variables: ['NO_COLOR', 'FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE'], for: 'the output' },
  {
    variables: ['TERM', 'COLORTERM', 'TERM_PROGRAM', 'LC_TERMINAL', 'KITTY_WINDOW_ID', 'WT_SESSION', 'TMUX', 'STY'],
    for: 'what the terminal can do',
  },
  { variables: ['CI', 'GITHUB_ACTIONS', 'VITEST'], for: 'who reads the output' },
  {
    variables: [
      'SLURM_ARRAY_TASK_ID',
      'SLURM_ARRAY_TASK_MIN',
      'SLURM_ARRAY_TASK_STEP',
      'SLURM_ARRAY_TASK_COUNT',
      'JOB_COMPLETION_INDEX',
      'CI_NODE_INDEX',
      'CI_NODE_TOTAL',
    ],
    for: 'batch --shard auto',
  },
];
