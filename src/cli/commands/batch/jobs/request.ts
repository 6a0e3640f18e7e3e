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
import { type JobInputs, openInputs, toReadable } from './job-inputs.ts';
import { openJobSettings } from './job-settings.ts';
import { createJobOutput, listFileNames, type SharedOutput } from './output.ts';
import { fillReferences, nameByPlace, readReferences, refuseNearNames } from './references.ts';
import type { BatchFlags } from '../flags.ts';
import {
  type Bound,
  computeAnswerCost,
  computeGreatestBound,
  createKnownFiles,
  type Deadline,
  findPrice,
  type JsonValue,
  type KnownFiles,
  notInBatches,
  type PreparedRequest,
  serviceNames,
  services,
  usageError,
} from '../../../../library/index.ts';
import type { JobSource } from './source.ts';
import type { Settings } from '../../../settings/types.ts';
import { buildRequest, type BuiltRequest } from '../../../request/build-request.ts';
import { type SchemaCheck, compileSchema } from '../../../input/schema.ts';
import { openUrlFetcher, requireNetwork, type UrlFetcher } from '../../../run/fetch-urls.ts';
import { type InputUrl, inputUrls } from '../../../input/input-files.ts';
import type { FetchedFiles } from '../../../input/attachments.ts';
import { usesByCommand } from '../../../run/settings.ts';

type JobSettings = ReturnType<typeof openJobSettings>;

type ResultOfJob = Parameters<typeof readReferences>[1];

interface BuilderOptions extends Omit<SharedOutput, 'pictures' | 'readLostNames'> {
  source: Pick<JobSource, 'name' | 'folder' | 'adviseVariable'>;
  host: Pick<BatchHost, 'nextCommand'>;
  /** Lists the files of pictures that answers of earlier runs name, and that were removed since. */
  listLostImages(): Promise<readonly string[]>;
  /** Returns the result of a job that is done, and the folder of its pictures. */
  readResult?: ResultOfJob;
}

/** Distinct schemas that are kept compiled. */
const maxSchemas = 100;

export type RequestBuilder = ReturnType<typeof createRequestBuilder>;

/** The parts that jobs share while they are built. */
interface JobBuilding extends BuilderOptions, SharedOutput {
  settingsOf: JobSettings['read'];
  schemas: Map<string, Promise<SchemaCheck>>;
  known: KnownFiles;
  fetcher: UrlFetcher | undefined;
}

/** Makes the functions that build requests of jobs; settings, schemas and files that jobs share are read once each. */
export function createRequestBuilder(options: BuilderOptions) {
  const { context, flags, outdir = context.io.cwd, source } = options;
  const { read, digestSource } = openJobSettings({ context, flags, file: source.name });
  let lost: Promise<ReadonlySet<string>> | undefined;
  const building: JobBuilding = {
    ...options,
    readLostNames: () => (lost ??= options.listLostImages().then(listFileNames)),
    settingsOf: read,
    schemas: new Map(),
    known: createKnownFiles(),
    fetcher: undefined,
    pictures: { folder: join(outdir, batchFiles.images), spare: tmpdir() },
  };
  return {
    settingsOf: read,
    digestSource,
    /** Throws GatewayError usage with the job's place in its file. */
    prepare: (job: Job) => prepareJob(job, building),
    openGone: (id: string, known: Parameters<BatchJobs['openGone']>[1]) => openGone(id, known, building),
  };
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
  const settings = await building.settingsOf(job);
  const inputs = openInputs(job, { ...building, folder: building.source.folder });
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
    const { key, hasUrls } = await keyRow(question, { known });
    const isLate = urls.length > 0 || job.uses !== undefined;
    // The efforts in the kept list of models can be others tomorrow.
    const hasOtherParts = isLate || inputs.hasReadFiles() || built.plain.efforts !== undefined;
    const hasPrices = Object.keys(settings.prices).length > 0;
    const { atEnd } = inputs.context;
    return {
      key,
      hasUrls,
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
    throw atPlace(building.source.name, job, toReadable(error));
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
  const settings = await building.settingsOf(known);
  const {
    warnings,
    close,
    context: { atEnd },
  } = openInputs(known, { ...building, folder: building.source.folder });
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

function adviseVars(name: string): string {
  return `give it a value: "vars": {${JSON.stringify(name)}: "…"}\nto send {{…}} unchanged: "vars": false`;
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
