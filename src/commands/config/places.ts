import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { historyFile, sessionsFolder } from '../../chat/session-path.ts';
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
import type { CommandOutcome, Context } from '../../cli/context.ts';
import { serviceNames, services } from '../../vendors/services.ts';

/** A file or folder of the user that runs of this program read or write without being told its name. */
interface Place {
  name: string;
  path: string;
  holds: string;
  writtenBy: string;
}

/** Every place that is used without being named on the command line. Throws GatewayError usage without a home folder. */
async function listPlaces(io: Pick<Io, 'env' | 'cwd'>): Promise<Place[]> {
  const { cache } = await userFolders();
  const state = await stateFolder();
  const sessions = await sessionsFolder();
  return [
    {
      name: 'config file',
      path: await configPath(io),
      holds: 'settings, and keys if you store them',
      writtenBy: 'config init, set, unset, use',
    },
    { name: 'prompts', path: await promptsFolder(io), holds: 'prompts of -t <name>', writtenBy: 'you alone' },
    { name: 'sessions', path: sessions, holds: 'conversations', writtenBy: 'chat --session, --continue' },
    {
      name: 'typed lines',
      path: join(sessions, historyFile),
      holds: 'what you typed',
      writtenBy: 'chat on a terminal',
    },
    {
      name: 'recovered',
      path: join(state, 'recovered'),
      holds: 'replies that could not be written',
      writtenBy: 'every command that asks a model',
    },
    { name: 'budgets', path: await budgetsFolder(), holds: 'what requests cost', writtenBy: 'commands with a budget' },
    { name: 'rates', path: join(state, 'rates'), holds: 'when requests were sent', writtenBy: 'batch --rate-group' },
    {
      name: 'lists of models',
      path: join(cache, 'models'),
      holds: 'what services listed, for a day',
      writtenBy: 'models, doctor, batch, commands that look a model up',
    },
    {
      name: 'lessons',
      path: join(cache, 'lessons'),
      holds: 'how a service wants its requests, for a day',
      writtenBy: 'every command that asks a model',
    },
    {
      name: 'temporary files',
      path: tmpdir(),
      holds: 'inputs and pictures during a run',
      writtenBy: 'every command that asks a model',
    },
  ];
}

/** `config path --all`, for those who must approve the program: all that it reads and writes unasked. */
export async function printPlaces({ io, root }: Pick<Context, 'io' | 'root'>): Promise<CommandOutcome | void> {
  const places = await listPlaces(io);
  const variables = listVariableGroups();
  if (root.json) return { document: { schema: 'gateway-cli/places@1', places, variables, telemetry: false } };
  const rows = places.map(({ name, path, holds, writtenBy }) => [name, path, holds, `written by: ${writtenBy}`]);
  const groups = variables.map((group) => [group.for, group.variables.join(' ')]);
  const lines = [
    ...alignColumns(rows),
    '',
    'Variables that are read:',
    ...alignColumns(groups),
    '',
    'Files and folders that you name are read and written too. There is no telemetry.',
  ];
  for (const line of lines) await io.stdout.write(`${escapeLine(line)}\n`);
}

/** Variables that are read for one purpose. */
interface VariableGroup {
  variables: string[];
  for: string;
}

/** Every variable of the environment that is read. A proxy's variable is read in lower case too. */
function listVariableGroups(): VariableGroup[] {
  const ofSettings = settingNames.flatMap((name) => useNames.flatMap((use) => listVariables(name, use)));
  const ofServices = serviceNames.map((name) => ({
    variables: unique([...keyNames(name), ...addressNames(name)]),
    for: services[name].title,
  }));
  return [
    { variables: unique([...ofSettings, 'GATEWAY_CONFIG']), for: 'settings: gateway-cli help settings' },
    ...ofServices.filter(({ variables }) => variables.length > 0),
    ...otherGroups,
  ];
}

const otherGroups: readonly VariableGroup[] = [
  { variables: ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'], for: 'the proxy' },
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
  { variables: ['NO_COLOR', 'FORCE_COLOR', 'CLICOLOR', 'CLICOLOR_FORCE', 'PAGER'], for: 'the output' },
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

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
