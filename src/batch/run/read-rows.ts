import { type NamingRow, resolveLinks } from './links.ts';
import { addRow, indexRows, newRowTable, type RowTable } from './table.ts';
import { gatewayKey, getRequestOrigin } from '../gateway.ts';
import { type ApiRequest, type AuthForm, type AuthUse, digestText } from '../../library/index.ts';
import { findFirst, numberFrom } from '../folder/manifest.ts';
import { type Batch, type Job, jobProducts, type GatewaySettings, type PreparedJob } from '../types.ts';

/** The rows of the file, and the facts of their requests. */
export interface ReadRows {
  /** The rows of the file, and the slot of each once it has one. */
  table: RowTable;
  /** The number of rows whose requests were built, as their digests were not in the manifest. */
  built: number;
  /** Digests of the parts that rows share. */
  shared: Readonly<Record<string, string>>;
  /** The gateways of the rows, by `gatewayKey`. */
  gateways: Map<string, BatchGateway>;
}

/** A gateway of some rows, and their forms of authentication. */
interface BatchGateway {
  settings: GatewaySettings;
  forms: Partial<Record<AuthUse, AuthForm>>;
  /** One of the requests to the gateway; absent if none was built. */
  post?: ApiRequest;
}

/** The jobs to read, and callbacks that get them. */
interface RowReading extends Pick<Batch, 'jobs' | 'state'> {
  signal: AbortSignal;
  /** Takes a mistake in the jobs, so that all are reported together; throws anything else. */
  onFault(error: unknown): void;
  /** Takes a job whose id an earlier one has. */
  onDuplicate(job: Job): Promise<void>;
  /** Gets each row with its place, and its request if that was built. */
  onRow(job: Job, place: number, prepared: PreparedJob | undefined): void;
}

/** Reads the rows of the file, and finds those that others use. Throws the errors of its callbacks. */
export async function readRows(options: RowReading): Promise<ReadRows> {
  const { jobs, onDuplicate, onFault, onRow, signal, state } = options;
  const table = newRowTable(state.manifest.rows.size);
  const index = indexRows(table);
  const gateways: ReadRows['gateways'] = new Map();
  const naming: NamingRow[] = [];
  let shared: ReadRows['shared'] | undefined;
  let built = 0;
  for await (const job of jobs.read(onFault)) {
    signal.throwIfAborted();
    try {
      const found = jobs.settingsOf(job);
      // To wait for each of a million jobs takes longer than to see that they have not changed.
      const settings = found instanceof Promise ? await found : found;
      shared ??= digestShared(job, settings);
      const from = job.uses ? undefined : jobs.digestSource(job, settings);
      const known = from === undefined ? undefined : findAnswered(from, state);
      const prepared = known === undefined ? await jobs.prepare(job) : undefined;
      addGateway({ settings, post: prepared?.request.post }, gateways);
      const first = known ?? (job.uses ? undefined : state.slots.add((prepared as PreparedJob).key));
      const place = addRow(table, job, first);
      if (from !== undefined && !prepared?.hasOtherParts) table.froms[place] = numberFrom(state.manifest, from);
      table.products[place] = jobProducts.indexOf(jobs.productOf(job));
      onRow(job, place, prepared);
      if (prepared) {
        built++;
        if (job.uses) naming.push({ place, id: job.id, line: job.line, uses: job.uses, key: prepared.key });
        // To keep the requests until they are sent would take memory, and spare a twentieth of the time.
        await prepared.close();
      }
      if (index.add(place)) await onDuplicate(job);
    } catch (error) {
      onFault(error);
    }
  }
  await resolveLinks(naming, { jobs, table }, onFault);
  return { table, built, shared: shared ?? {}, gateways };
}

/** The first slot of the key of a row that was built of the same, if it has an answer: a row without one is most likely sent, and so is built all the same. */
function findAnswered(from: string, { manifest, slots }: Batch['state']): number | undefined {
  const first = findFirst(manifest, from);
  return first === undefined || slots.answersOf(first) === 0 ? undefined : first;
}

/** Digests of the parts that the first row shares with the others, so that an edit of them can be named. */
function digestShared(job: Job, settings: GatewaySettings): ReadRows['shared'] {
  const { places: _, vars: __, ...values } = job.values;
  const { effort, model, format, service } = settings;
  const address = getRequestOrigin(settings);
  const all = { ...(effort && { effort }), ...values, address, model, format, service };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [name, digestText(JSON.stringify(value)).slice(0, 8)]),
  );
}

function addGateway(
  { settings, post }: Pick<BatchGateway, 'settings'> & { post: ApiRequest | undefined },
  gateways: ReadRows['gateways'],
): void {
  const key = gatewayKey(settings);
  const gateway: BatchGateway = gateways.get(key) ?? { settings, forms: {} };
  gateways.set(key, gateway);
  if (post === undefined) return;
  gateway.post ??= post;
  if (!(post.use in gateway.forms)) gateway.forms = { [post.use]: settings.auth, ...gateway.forms };
}
