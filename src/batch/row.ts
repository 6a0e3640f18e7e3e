import { isObject, type JsonObject, type JsonValue } from '../library/index.ts';
import { findImageName } from './folder/results.ts';
import { batchFiles, type JobError } from './types.ts';

/** The state of a job in a report. */
export type RowState = 'done' | 'failed' | 'unknown' | 'submitted' | 'pending';

/** One job of a batch in a report. An absent field is unknown. */
export interface ReportRow {
  id: string;
  name?: string | undefined;
  command?: string | undefined;
  /**
   * `outdated` for an answer that was made of an earlier answer of another row. In a report with all answers, `earlier` for one that no
   * row of the table wants, such as one to another version of its prompt, or that does not count, and `now` for the others.
   */
  version?: 'now' | 'outdated' | 'earlier' | undefined;
  /** The word by which `batch choose` takes this answer, if another one of its row counts. */
  choose?: string | undefined;
  state: RowState;
  /** The values of the template variables in its prompt. */
  vars?: JsonObject | undefined;
  prompt?: string | undefined;
  text?: string | undefined;
  /** Whether the reply says that it is whole, and the reason of its end. */
  complete?: boolean | undefined;
  stopReason?: string | undefined;
  /** The value that `--schema` checked. */
  answer?: JsonValue | undefined;
  /** Paths below the batch's folder. */
  images: string[];
  /** The addresses, or titles, of the sources that the answer cites; if it cites none, of those that its searches found. */
  sources?: string[] | undefined;
  usage?: JsonObject | undefined;
  cost?: JsonObject | undefined;
  attempts?: number | undefined;
  durationMs?: number | undefined;
  error?: Pick<JobError, 'class' | 'message'> | undefined;
  /** For a row that stands for several jobs: the answer of each, by the label of its variation. */
  variations?: Readonly<Record<string, string>> | undefined;
}

/** The report row of a result. Facts that the table lacks are taken from the result, and so from the time of its request. */
export function toReportRow(
  { id, version, name, state, vars, prompt }: Pick<ReportRow, 'id' | 'version' | 'name' | 'state' | 'vars' | 'prompt'>,
  document: JsonObject,
): ReportRow {
  const { vars: sent, usage, cost, answer, attempts, durationMs, error, images, sources, complete } = document;
  return {
    id: id === '' ? String(document['id']) : id,
    version,
    name: name ?? toTextIfString(document['name']),
    command: toTextIfString(document['command']),
    state,
    vars: vars ?? (isObject(sent) ? sent : undefined),
    prompt: prompt ?? toTextIfString(document['prompt']),
    text: toTextIfString(document['text']),
    complete: typeof complete === 'boolean' ? complete : undefined,
    stopReason: toTextIfString(document['stopReason']),
    answer,
    images: (Array.isArray(images) ? images : []).flatMap(listImagePaths),
    sources: Array.isArray(sources) ? listSourceNames(sources.filter(isObject)) : undefined,
    usage: isObject(usage) ? usage : undefined,
    cost: isObject(cost) ? cost : undefined,
    attempts: typeof attempts === 'number' ? attempts : undefined,
    durationMs: typeof durationMs === 'number' ? durationMs : undefined,
    error: isObject(error)
      ? { class: toTextIfString(error['class']) ?? '', message: toTextIfString(error['message']) ?? '' }
      : undefined,
  };
}

/** The paths of pictures in the folder where the batch saves them, whatever path the line has. */
function listImagePaths(image: JsonValue): string[] {
  const name = isObject(image) ? findImageName(image['path']) : undefined;
  return name === undefined ? [] : [`${batchFiles.images}/${name}`];
}

function listSourceNames(sources: readonly JsonObject[]): string[] {
  const cited = sources.filter((source) => source['cited'] === true);
  return (cited.length > 0 ? cited : sources).flatMap(
    (source) => toTextIfString(source['url']) ?? toTextIfString(source['title']) ?? [],
  );
}

function toTextIfString(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A column of a table. */
export interface Column<Row = ReportRow> {
  name: string;
  /** Undefined if the cell is empty. */
  cell(row: Row): string | number | undefined;
}

const leadingNames = ['id', 'version', 'choose', 'name', 'command', 'state', 'complete', 'stopReason'] as const;

const trailingNames = ['attempts', 'durationMs'] as const;

/** Columns that every table has. */
const always = new Set(['id', 'state']);

/** Rows in their order, some at a time. They can be read once. */
export type RowBlocks<Row = ReportRow> = AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>;

/** The columns that a table of jobs needs: each has a value for at least one job. */
export async function findColumns(blocks: RowBlocks): Promise<Column[]> {
  const members = { answer: new Set<string>(), usage: new Set<string>(), cost: new Set<string>() };
  const variables = new Set<string>();
  const filled = new Set(always);
  let empty = plainColumns;
  for await (const block of blocks)
    for (const row of block) {
      for (const name of Object.keys(row.vars ?? {}))
        // A variable with the id of each job as its value adds nothing.
        if (name !== 'id' || String(toCell(row.vars?.[name])) !== row.id) variables.add(name);
      addNames(members.answer, row.answer);
      addNames(members.usage, row.usage);
      addNames(members.cost, row.cost);
      const found = empty.filter(({ cell }) => (cell(row) ?? '') !== '');
      if (found.length === 0) continue;
      for (const { name } of found) filled.add(name);
      empty = empty.filter((column) => !found.includes(column));
    }
  const plain = plainColumns.filter(({ name }) => filled.has(name));
  const listColumns = (names: readonly string[]): Column[] => plain.filter(({ name }) => names.includes(name));
  const leading = listColumns(leadingNames);
  const fixed = [
    ...listColumns(['text', 'answer']),
    ...memberColumns('answer', members.answer),
    ...listColumns(['images', 'sources']),
    ...memberColumns('usage', members.usage),
    ...memberColumns('cost', members.cost),
    ...listColumns([...trailingNames, 'error.class', 'error.message']),
  ];
  const taken = new Set([...leading, ...fixed].map(({ name }) => name));
  const own = [...variables].map((name) =>
    column(taken.has(name) ? `vars.${name}` : name, ({ vars }) => getColumnValue(vars, name)),
  );
  // If no table filled them, the prompts tell the jobs apart.
  return [...leading, ...(own.length > 0 ? own : listColumns(['prompt'])), ...fixed];
}

function addNames(names: Set<string>, value: JsonValue | undefined): void {
  if (isObject(value)) for (const name of Object.keys(value)) names.add(name);
}

/** The columns with one value for each job. If `--schema` checked the answer, `text` is left out: it is the same JSON. */
const plainColumns: readonly Column[] = [
  ...leadingNames.map((name) => column(name, (row) => row[name])),
  column('prompt', ({ prompt }) => prompt),
  column('text', ({ text, answer }) => (answer === undefined ? text : undefined)),
  column('answer', ({ answer }) => (isObject(answer) ? undefined : answer)),
  column('images', ({ images }) => images.join('; ')),
  column('sources', ({ sources = [] }) => sources.join('; ')),
  ...trailingNames.map((name) => column(name, (row) => row[name])),
  column('error.class', ({ error }) => error?.class),
  column('error.message', ({ error }) => error?.message),
];

function memberColumns(key: 'answer' | 'usage' | 'cost', names: ReadonlySet<string>): Column[] {
  return [...names].map((name) => column(`${key}.${name}`, (row) => getColumnValue(row[key], name)));
}

function getColumnValue(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function column(name: string, value: (row: ReportRow) => JsonValue | undefined): Column {
  return { name, cell: (row) => toCell(value(row)) };
}

function toCell(value: JsonValue | undefined): string | number | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value);
}
