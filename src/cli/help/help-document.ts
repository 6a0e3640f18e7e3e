import type { Command, Option } from 'commander';
import { outcomes } from '../../errors.ts';
import type { OwnDocument } from '../context.ts';
import { getFlagFacts, isAdvanced } from '../flags/flag.ts';
import { readShipped } from '../shipped.ts';
import { findDefaultName, isRepeatable, toCommandFacts } from './facts.ts';
import { commandRows, formatUsage, orDefault } from './help.ts';

/**
 * The help of a command as a document, with what `--json` prints: the JSON Schema of the result, for a command that prints one and
 * for the program, and the keys of other documents.
 */
export async function helpDocument(command: Command, text: string): Promise<OwnDocument> {
  const help = { schema: 'gateway-cli/help@1', text, ...describeCommand(command) };
  const printsResult = help.documents.some(({ schema, when }) => schema === failure.schema && when === undefined);
  if (!printsResult && command.parent !== null) return help;
  return { ...help, resultSchema: JSON.parse(await readShipped('dist/result.schema.json')) as unknown };
}

/** What a program needs to know about a command: its arguments, flags and exit codes. */
export function describeCommand(command: Command) {
  const facts = toCommandFacts(command);
  const usage = formatUsage(facts);
  const shown = command.commands.find((sub) => sub.name() === findDefaultName(command)) ?? command;
  const flags = shown.options.filter((option) => !option.hidden);
  return {
    command: facts.name,
    summary: command.description(),
    usage,
    examples: orDefault(facts).examples,
    commands: commandRows(facts).map(([name, summary]) => ({ name, summary })),
    arguments: shown.registeredArguments.map((argument) => ({
      name: argument.name(),
      // Some commands check it themselves, to say more than commander if it is missing.
      required: argument.required || usage.includes(`<${argument.name()}>`),
      repeatable: argument.variadic,
      text: argument.description,
    })),
    flags: flags.map((option) => describeFlag(option, flags)),
    documents: listDocuments(orDefault(facts).name.replace('gateway-cli ', '')),
    exitCodes: Object.entries(outcomes).map(([name, outcome]) => ({ class: name, ...outcome })),
  };
}

/**
 * A flag as data. A key that says nothing is absent. `value` is the placeholder of the value in help: `<path|->`; `values` are all
 * that it takes, `suggestions` some of them.
 */
function describeFlag(option: Option, all: readonly Option[]) {
  const { long = '' } = option;
  const { type, minimum, maximum, isChoice, values } = getFlagFacts(option);
  const value = /[<[].*$/.exec(option.flags)?.[0];
  const standard = /\(default: ([^)]*)\)$/.exec(option.description)?.[1];
  // A conflict is named on one side, and holds for both.
  const names = all.flatMap((other) => other.long ?? []);
  const table = names.includes('--data') ? { ...conflicts, ...conflictsOfRows } : conflicts;
  const excluded = names.filter((other) => table[long]?.includes(other) || table[other]?.includes(long));
  return {
    name: option.long ?? option.flags,
    ...(option.short && { short: option.short }),
    type: value === undefined ? ('boolean' as const) : type,
    ...(value !== undefined && { value }),
    ...(minimum !== undefined && { minimum }),
    ...(maximum !== undefined && { maximum }),
    ...(standard !== undefined && { default: standard }),
    ...(values && (isChoice ? { values } : { suggestions: values })),
    ...(isRepeatable(option) && { repeatable: true }),
    ...(excluded.length > 0 && { conflicts: excluded }),
    ...(isAdvanced(option) && { advanced: true }),
    group: option.helpGroupHeading ?? 'Flags',
    text: option.description,
  };
}

/** Flags that exclude each other, whatever their values: exit code 2. The commands check that; this is the same as data. */
const conflicts: Readonly<Record<string, readonly string[]>> = {
  '--csv': ['--json'],
  '--curl': ['--field', '--json', '--jsonl', '--raw'],
  '--continue': ['--no-save', '--raw', '--session'],
  '--dry-run': ['--curl', '--field', '--jsonl', '--raw'],
  '--field': ['--json', '--jsonl', '--raw'],
  '--json': ['--jsonl'],
  '--no-vars': ['--var'],
  '--offline': ['--base-url'],
  '--prompt': ['--prompt-file'],
  '--prompt-file': ['--template'],
  '--raw': ['--code', '--json', '--jsonl', '--output', '--preview', '--sidecar', '--strict'],
  '--session': ['--no-save', '--raw'],
  '--system': ['--system-file'],
};

/** The same of `batch`, where `--template` is for the rows of `--data`. */
const conflictsOfRows: typeof conflicts = {
  '--stream': ['--data', '--estimate', '--prompts', '--shard', '--template'],
};

const result = '';
const request = 'method url headers.* body';
const modelDocuments = { result, request };

const counts = 'jobs done incomplete failed unknown pending waiting submitted removed';
const batch = `${counts} skipped usage cost[].amount cost[].currency costUnknown durationMs outdir failures[].id failures[].error`;
const atService = 'atService[].batch atService[].mark atService[].model atService[].jobs atService[].submittedAt';
const config = 'path profile';
const sums = (list: string): string =>
  ['currency', 'requests', 'unknown', 'amount', 'savedRequests', 'saved', 'told']
    .map((key) => `${list}[].${key}`)
    .join(' ');
const recording = ['id', 'file', 'recorded', 'method', 'path', 'model', 'status', 'ended', 'bytes'];

/**
 * The documents that each command prints with `--json`, by the name in their schema, and the paths of their keys. `*` is any name;
 * an object without paths below it has keys of its own. Every document also has those of `common`.
 */
const documents: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: modelDocuments,
  'image gen': modelDocuments,
  'image edit': modelDocuments,
  chat: modelDocuments,
  models: {
    models: `complete ${'id title formats[] operations[] endsOn lifecycle successor line createdAt context outputLimit inputs[] outputs[] prices.input prices.output prices.cached efforts[] thinkingOff isLoaded'.replaceAll(/\S+/g, 'models[].$&')}`,
  },
  'sessions list': {
    sessions:
      'sessions[].name sessions[].path sessions[].changed sessions[].messages sessions[].prompt sessions[].error',
  },
  'sessions search': {
    sessions:
      'sessions[].name sessions[].path sessions[].changed sessions[].messages sessions[].prompt sessions[].found[]',
  },
  'prompts list': { prompts: 'prompts[].name prompts[].path' },
  'prompts show': { prompt: 'name path text' },
  'sessions show': {
    session:
      'name path messages[].role messages[].content[] messages[].model messages[].service messages[].system messages[].at',
  },
  'sessions export': { session: 'name path messages[].role messages[].content' },
  'sessions rm': { sessions: 'removed[]' },
  'recordings list': { recordings: recording.map((key) => `recordings[].${key}`).join(' ') },
  'recordings show': { recording: `${recording.join(' ')} request reply.status reply.headers.* reply.body` },
  'recordings prune': { recordings: 'removed[] bytes dryRun' },
  recover: { result, 'recovery-files': 'files[].path files[].savedAt files[].command files[].job' },
  serve: { serve: 'url port apiKey env.* unset[]' },
  'config init': { config: `${config} exists` },
  'config path': { config: `${config} exists` },
  'config list': { config: `${config} exists profiles[] settings.*.value settings.*.from` },
  'config get': { config: `${config} key value from` },
  'config set': { config: `${config} key` },
  'config unset': { config: `${config} key` },
  'config use': { config },
  'batch run': {
    batch,
    'batch-plan':
      'jobs total due skipped left origin kinds[].command kinds[].model kinds[].service kinds[].origin kinds[].jobs',
    'batch-estimate': [
      'jobs total due skipped left expected.answers expected.outputTokens expected.cost[].amount expected.cost[].currency tooLongJobs tooLong[].id tooLong[].line tooLong[].model tooLong[].tokens tooLong[].window',
      'models[].model models[].jobs models[].inputTokens models[].outputTokensMost models[].countedByBytes',
      'lanes.*.input[].amount lanes.*.input[].currency lanes.*.most[].amount lanes.*.most[].currency',
      'models[].withoutFiles models[].window models[].hasPrice',
    ].join(' '),
  },
  'batch status': {
    batch: `${batch} folders[].outdir folders[].jobs folders[].done folders[].incomplete folders[].failed folders[].unknown folders[].pending lastError running.pid running.host ${atService} atService[].expiresAt`,
  },
  'batch cancel': { 'batch-cancel': 'cancelled[].batch cancelled[].jobs' },
  'batch export': { 'batch-export': 'path format rows leftOut' },
  'batch gallery': { 'batch-gallery': 'path' },
  'costs show': {
    costs: ['name', 'path', 'limit', 'per', 'currency', 'spent', 'inFlight', 'left']
      .map((key) => `budgets[].${key}`)
      .join(' '),
  },
  'costs report': {
    'costs-report': `by from rows[].day rows[].model rows[].tag rows[].service rows[].lane ${sums('rows')} ${sums('totals')}`,
  },
  doctor: {
    doctor: [
      'checks[].name checks[].profile checks[].state checks[].text checks[].fix checks[].class',
      'settings[].key settings[].uses[] settings[].value settings[].from',
    ].join(' '),
    files:
      'files[].path files[].holds files[].writtenBy files[].exists variables[].variables[] variables[].for set[] telemetry',
  },
  mcp: { 'mcp-config': 'client file entry' },
  completion: { completion: 'shell script' },
};

const common = ['ok', 'exitCode', 'warnings[]'];
const ofError = 'class message hint recovery status requestId retryable retryAfterMs sent billed'.split(' ');

/** A document of a command. The keys of `gateway-cli/result@1` are in its schema. */
interface DocumentData {
  schema: string;
  keys?: readonly string[];
  /** When it is printed, if not on success. */
  when?: string;
}

const failure: DocumentData = {
  schema: 'gateway-cli/result@1',
  when: 'the command failed before it had another document',
  keys: ['command', ...common, ...ofError.map((key) => `error.${key}`)],
};

/** The documents of a command by its name, such as `image gen`; none of a group. */
function listDocuments(name: string): DocumentData[] {
  const found = Object.entries(documents[name] ?? {}).map(([schema, keys]) => ({
    schema: `gateway-cli/${schema}@1`,
    ...(keys !== result && { keys: [...common, 'error', ...keys.split(' ')] }),
  }));
  const printsResult = found.some(({ schema }) => schema === failure.schema);
  return found.length === 0 || printsResult ? found : [...found, failure];
}
