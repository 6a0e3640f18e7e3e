const result = '';
const request = 'method url headers.* body';
const asked = { result, request };

const counts = 'jobs done incomplete failed unknown pending submitted';
const batch = `${counts} skipped usage cost[].amount cost[].currency costUnknown durationMs outdir failures[].id failures[].error`;
const atService = 'atService[].batch atService[].mark atService[].model atService[].jobs atService[].submittedAt';
const config = 'path profile';
const sums = (list: string): string =>
  ['currency', 'requests', 'unknown', 'amount', 'savedRequests', 'saved'].map((key) => `${list}[].${key}`).join(' ');
const recording = ['id', 'file', 'recorded', 'method', 'path', 'model', 'status', 'ended', 'bytes'];

/**
 * The documents that each command prints with `--json`, by the name in their schema, and the paths of their keys. `*` is any name;
 * an object without paths below it has keys of its own. Every document also has those of `common`.
 */
const documents: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: asked,
  'image gen': asked,
  'image edit': asked,
  chat: asked,
  models: { models: 'complete models[].id models[].title models[].formats[] models[].operations[]' },
  'sessions list': {
    sessions:
      'sessions[].name sessions[].path sessions[].changed sessions[].messages sessions[].prompt sessions[].error',
  },
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
    'batch-plan': 'jobs total due skipped origin',
    'batch-estimate': [
      'jobs total due skipped tooLongJobs tooLong[].id tooLong[].line tooLong[].model tooLong[].tokens tooLong[].window',
      'models[].model models[].jobs models[].inputTokens models[].outputTokensMost models[].countedByBytes',
      'lanes.*.input[].amount lanes.*.input[].currency lanes.*.most[].amount lanes.*.most[].currency',
      'models[].withoutFiles models[].window models[].hasPrice',
    ].join(' '),
  },
  'batch status': { batch: `${batch} lastError running.pid running.host ${atService} atService[].expiresAt` },
  'batch cancel': { 'batch-cancel': 'cancelled[].batch cancelled[].jobs' },
  'batch merge': { batch },
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
export function documentsOf(name: string): DocumentData[] {
  const found = Object.entries(documents[name] ?? {}).map(([schema, keys]) => ({
    schema: `gateway-cli/${schema}@1`,
    ...(keys !== result && { keys: [...common, 'error', ...keys.split(' ')] }),
  }));
  const printsResult = found.some(({ schema }) => schema === failure.schema);
  return found.length === 0 || printsResult ? found : [...found, failure];
}
