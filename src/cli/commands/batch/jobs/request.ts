import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  batchFiles,
  type BatchHost,
  type BatchJobs,
  type CollectedJob,
  getRequestOrigin,
  type Job,
  keyRow,
  type PreparedJob,
} from '../../../../batch/index.ts';
import { atPlace } from './job-line.ts';
import { createJobOutput, type SharedOutput } from './output.ts';
import { fillReferences, nameByPlace, readReferences, refuseNearNames } from './references.ts';
import type { BatchFlags } from '../flags.ts';
import {
  type Bound,
  computeAnswerCost,
  computeGreatestBound,
  createKnownFiles,
  type Deadline,
  describeReadError,
  digestText,
  findPrice,
  getErrorCode,
  type JsonValue,
  type KnownFiles,
  notInBatches,
  type PreparedRequest,
  serviceNames,
  services,
  usageError,
  version,
} from '../../../../library/index.ts';
import type { JobSource } from './source.ts';
import type { Settings } from '../../../settings/types.ts';
import { buildRequest, type BuiltRequest } from '../../../request/build-request.ts';
import type { TextPlaces } from '../../../input/prompt.ts';
import type { InputContext } from '../../../context.ts';
import { type SchemaCheck, compileSchema } from '../../../input/schema.ts';
import { openUrlFetcher, requireNetwork, type UrlFetcher } from '../../../run/fetch-urls.ts';
import { type InputUrl, inputUrls } from '../../../input/input-files.ts';
import type { FetchedFiles } from '../../../input/attachments.ts';
import { type ConnectionFlags, readSettings, usesByCommand } from '../../../run/settings.ts';

/** The flags of the batch, with those of a job in their place. */
function withJob(flags: ConnectionFlags, { model, profile, places }: JobSettings): Parameters<typeof readSettings>[0] {
  const modelFrom = places?.model ?? (model === flags.model ? undefined : 'the jobs');
  return {
    ...flags,
    ...(model !== undefined && { model }),
    ...(modelFrom !== undefined && { places: { model: modelFrom } }),
    ...(profile !== undefined && { jobProfile: profile }),
  };
}

type ResultOfJob = Parameters<typeof readReferences>[1];

/** The settings that a job can give itself. */
interface JobSettings {
  model?: string;
  profile?: string;
  places?: TextPlaces;
}

interface BuilderOptions extends Omit<SharedOutput, 'pictures'> {
  source: Pick<JobSource, 'name' | 'folder' | 'adviseVariable'>;
  host: Pick<BatchHost, 'nextCommand'>;
  /** Returns the result of a job that is done, and the folder of its pictures. */
  readResult?: ResultOfJob;
}

/** Distinct schemas that are kept compiled. */
const maxSchemas = 100;

/** The parts of a job that its settings follow from. */
type AskingJob = Pick<Job, 'command' | 'values' | 'line' | 'place'>;

/** Builds requests of jobs; settings, schemas and files that jobs share are read once each. */
export interface RequestBuilder {
  /** Throws GatewayError usage with the job's place in its file. */
  prepare(job: Job): Promise<PreparedJob>;
  openGone: BatchJobs['openGone'];
  settingsOf(job: AskingJob): Settings | Promise<Settings>;
  digestSource(job: Job, settings: Settings): string;
}

/** The parts that jobs share while they are built. */
interface JobBuilding extends BuilderOptions, SharedOutput {
  settings: Map<string, Settings | Promise<Settings>>;
  /** Hashes of settings. */
  digests: WeakMap<Settings, string>;
  schemas: Map<string, Promise<SchemaCheck>>;
  known: KnownFiles;
  fetcher: UrlFetcher | undefined;
}

export function createRequestBuilder(options: BuilderOptions): RequestBuilder {
  const { context, outdir = context.io.cwd } = options;
  const building: JobBuilding = {
    ...options,
    settings: new Map(),
    digests: new WeakMap(),
    schemas: new Map(),
    known: createKnownFiles(),
    fetcher: undefined,
    pictures: { folder: join(outdir, batchFiles.images), spare: tmpdir() },
  };
  return {
    settingsOf: (job) => readJobSettings(job, building),
    digestSource: (job, settings) => digestSource(job, settings, building),
    prepare: (job) => prepareJob(job, building),
    openGone: (id, known) => openGone(id, known, building),
  };
}

/** Reads the settings of a job. Returns no promise if they were read before. */
function readJobSettings(
  { command, values, line, place }: AskingJob,
  building: JobBuilding,
): Settings | Promise<Settings> {
  const { context, flags, settings, source } = building;
  const { model, profile } = values as JobSettings;
  const isPlain = model === undefined && profile === undefined;
  const key = isPlain ? command : JSON.stringify([command, model, profile]);
  let read = settings.get(key);
  if (read === undefined) {
    // Warnings of the settings are printed once, not for each model.
    const ui = settings.size === 0 ? context.ui : { ...context.ui, warn: ignoreWrite, detail: ignoreWrite };
    read = readSettings(withJob(flags, values), { ...context, ui }, usesByCommand[command]).then((found) => {
      const known = withoutStdin(found);
      settings.set(key, known);
      return known;
    });
    settings.set(key, read);
  }
  if (profile === undefined || !(read instanceof Promise)) return read;
  return read.catch((error: unknown) => {
    throw atPlace(source.name, { line, place }, error);
  });
}

/** Hashes the parts that a request is built from; the settings that jobs share are hashed once. */
function digestSource({ command, values }: Job, settings: Settings, { digests }: JobBuilding): string {
  // Another version of this program may build another request of the same parts.
  const rest = digests.get(settings) ?? digestText(JSON.stringify([version, settings]));
  digests.set(settings, rest);
  return digestText(`${rest} ${command} ${JSON.stringify(values)}`);
}

/** Builds the request for the key of a job that uses others: it names them by number, as the key has their slots, whatever their ids are. */
async function buildByPlace(job: Job, parts: BuildParts): Promise<BuiltRequest> {
  const built = await buildJob(fillReferences(nameByPlace(job)), parts);
  // The job's own request has the same warnings.
  parts.inputs.warnings.length = 0;
  return built;
}

async function prepareJob(job: Job, building: JobBuilding): Promise<PreparedJob> {
  const { flags, known } = building;
  const settings = await readJobSettings(job, building);
  const inputs = openInputs(job, building);
  const { warnings, close } = inputs;
  const urls = inputUrls(job.values);
  try {
    if (job.uses && building.readResult === undefined)
      throw usageError(`@${job.uses[0]?.name} names another job, and --stream knows none`, 'use a job file');
    refuseNearNames(job);
    if (urls.length > 0) requireNetwork(urls, settings, flags);
    const parts = { inputs, settings, building };
    const asked = job.uses ? await buildByPlace(job, parts) : undefined;
    const built = await buildJob(job.uses ? fillReferences(job) : job, parts);
    if (settings.lane === 'batch') requireBatchable(built, settings);
    const { path, format, body } = (asked ?? built).post;
    const question = { origin: getRequestOrigin(settings), path, format, body };
    const { key, hasUrls, characters } = await keyRow(question, { known });
    const isLate = urls.length > 0 || job.uses !== undefined;
    // The efforts in the kept list of models can be others tomorrow.
    const hasOtherParts = isLate || inputs.hasReadFiles() || built.plain.efforts !== undefined;
    const hasPrices = Object.keys(settings.prices).length > 0;
    const { atEnd } = inputs.context;
    return {
      key,
      hasUrls,
      characters,
      hasOtherParts,
      settings,
      request: toPreparedRequest(built, flags),
      bound: hasPrices ? computeRequestBound(built, settings, job) : undefined,
      costOf: (answer) => computeAnswerCost(answer, settings),
      boundOf: (body) => computeRequestBound({ ...built, post: { ...built.post, body } }, settings, job),
      retries: getRetries(built, flags),
      isFlex: built.plain.tier !== undefined,
      fetchInputs: isLate ? (deadline) => fetchInputs(job, deadline, { urls, inputs, settings, building }) : undefined,
      output: createJobOutput(job, { ...building, built, settings, warnings, atEnd }),
      close,
    };
  } catch (error) {
    await close();
    throw atPlace(building.source.name, job, readable(error));
  }
}

/** Opens the output of an answer whose row is gone. */
async function openGone(
  id: string,
  { profile, model }: { profile: string; model: string },
  building: JobBuilding,
): Promise<CollectedJob> {
  const known: Job = {
    id,
    line: 0,
    number: 0,
    command: 'text',
    name: undefined,
    values: { model, ...(profile !== '' && { profile }) },
  };
  const settings = await readJobSettings(known, building);
  const {
    warnings,
    close,
    context: { atEnd },
  } = openInputs(known, building);
  const parts = { ...building, built: { model }, settings, warnings, atEnd };
  return { settings, output: createJobOutput({ ...known, values: {} }, parts), close };
}

/** Builds the request again, with the files of its URLs and the results of other jobs, which are there now. */
async function fetchInputs(
  job: Job,
  deadline: Deadline,
  { urls, ...parts }: BuildParts & { urls: readonly InputUrl[] },
): Promise<PreparedRequest> {
  const { inputs, settings, building } = parts;
  const { flags, context, host, readResult = async () => undefined } = building;
  // The first build has given the warnings of the inputs.
  inputs.warnings.length = 0;
  building.fetcher ??= openUrlFetcher(flags, context);
  const fetched = await building.fetcher.fetchAll(urls, { settings, deadline, atEnd: inputs.context.atEnd });
  if (!job.uses) return toPreparedRequest(await buildJob(job, parts, fetched), flags);
  const { files, texts } = await readReferences(job, readResult, host);
  const filled = fillReferences(job, texts);
  return toPreparedRequest(await buildJob(filled, parts, new Map([...fetched, ...files])), flags);
}

interface BuildParts {
  inputs: JobInputs;
  settings: Settings;
  building: JobBuilding;
}

async function buildJob(
  { command, values }: Job,
  { inputs, settings, building }: BuildParts,
  fetched?: FetchedFiles,
): Promise<BuiltRequest> {
  const images = (values['image'] ?? []) as readonly unknown[];
  if (command === 'image edit' && images.length === 0)
    throw usageError('there is no image to edit', 'for example: "image":["photo.jpg"]');
  return buildRequest([], values, {
    context: inputs.context,
    settings,
    use: usesByCommand[command],
    compile: (schema) => compileOnce(schema, building),
    adviseVariable: building.source.adviseVariable ?? adviseVars,
    fetched,
  });
}

/** Compiles a schema; one that jobs share is compiled once. */
function compileOnce(schema: JsonValue, { context, schemas }: JobBuilding): Promise<SchemaCheck> {
  const text = JSON.stringify(schema);
  const known = schemas.get(text) ?? compileSchema(schema, { signal: context.signal });
  if (schemas.size < maxSchemas) schemas.set(text, known);
  return known;
}

/** The readers of the inputs of one job. */
interface JobInputs {
  context: InputContext;
  /** The warnings of the inputs, for the job's result. */
  warnings: string[];
  /** Whether the folder of the jobs was asked for, as it is for each file. */
  hasReadFiles(): boolean;
  /** Runs the cleanups that were registered for the end. */
  close(): Promise<void>;
}

/** Opens the inputs of a job. Paths are relative to the folder of the jobs, nothing is printed, and stdin is not read. */
function openInputs(
  { command }: Job,
  { context: { io, signal, ui }, source: { folder }, known }: JobBuilding,
): JobInputs {
  const warnings: string[] = [];
  const cleanups: (() => Promise<void>)[] = [];
  let hasReadFiles = false;
  const files = {
    stdin: io.stdin,
    get cwd() {
      hasReadFiles = true;
      return folder;
    },
  };
  return {
    context: {
      io: files,
      signal,
      stdin: { claimedBy: 'the jobs', claim: refuseStdin, reserve: refuseStdin },
      command,
      known,
      ui: {
        note: ignoreWrite,
        notice: ignoreWrite,
        detail: ignoreWrite,
        warn: async (text) => void warnings.push(ui.redact(text)),
      },
      atEnd: (cleanup) => void cleanups.unshift(cleanup),
    },
    warnings,
    hasReadFiles: () => hasReadFiles,
    async close() {
      for (const cleanup of cleanups.splice(0)) await cleanup().catch(() => undefined);
    },
  };
}

function toPreparedRequest(
  { post, model, defaultFor, fallback }: BuiltRequest,
  { maxCost }: BatchFlags,
): PreparedRequest {
  return {
    post,
    model,
    // A limit of costs holds for models whose price is known: no other model takes the place of a default.
    defaultFor: maxCost === undefined ? defaultFor : undefined,
    fallback,
  };
}

/** The longest wait of a job between its retries, in ms; the flex lane has its own. */
const longestWaitMs = 300_000;

function getRetries({ plain }: BuiltRequest, { retryMaxTime }: BatchFlags): PreparedJob['retries'] {
  return retryMaxTime === undefined && plain.tier ? {} : { maxWaitMs: retryMaxTime ?? longestWaitMs };
}

/** The bound of the cost of a request, recorded even without a limit: a later run may have one. */
function computeRequestBound(
  { post, format, model, fallback = model }: BuiltRequest,
  { prices, lane }: Settings,
  job: Job,
): Bound | undefined {
  const found = [model, fallback].flatMap((name) => findPrice(prices, name) ?? []);
  if (found.length < 2) return undefined;
  const bound = computeGreatestBound(post.body, found, { ...format.limits(post.body), lane });
  // The texts of other jobs are not known yet.
  return bound && job.uses?.some(({ text }) => text) ? { ...bound, isMost: false } : bound;
}

function withoutStdin(settings: Settings): Settings {
  return { ...settings, noStdin: true };
}

function adviseVars(name: string): string {
  return `give it a value: "vars": {${JSON.stringify(name)}: "…"}\nto send {{…}} unchanged: "vars": false`;
}

/** The error of an input file that was removed between two reads. */
function readable(error: unknown): unknown {
  const code = getErrorCode(error) ?? '';
  return /^E[A-Z]+$/.test(code) && !('class' in (error as object))
    ? usageError(
        `an input file cannot be read: ${describeReadError(error)}`,
        'check the files that the job names',
        error,
      )
    : error;
}

const ignoreWrite = async (): Promise<void> => undefined;

function refuseStdin(by: string): never {
  throw usageError(`${by} - cannot be used in a job`, 'put it into a file beside the jobs');
}

/** Throws GatewayError usage for a job that no batch of its service can hold. */
function requireBatchable(
  { model, quirks }: Pick<BuiltRequest, 'model' | 'quirks'>,
  { service }: Pick<Settings, 'service'>,
): void {
  const { lacksBatches, title } = services[service];
  if (lacksBatches) {
    const having = serviceNames.filter((name) => name !== 'gateway' && !services[name].lacksBatches);
    throw usageError(`no batch API of ${title} is known`, `use --lane live; these have one: ${having.join(', ')}`);
  }
  // A server at another address decides by itself.
  const refused = quirks.service.startsWith(`${service}/`) ? notInBatches[service] : undefined;
  if (refused?.models.test(model))
    throw usageError(
      `the batches of ${title} do not take ${model}`,
      `name another model for these jobs: "model": "${refused.instead}" or -m ${refused.instead}; or --lane live, at full price`,
    );
}
