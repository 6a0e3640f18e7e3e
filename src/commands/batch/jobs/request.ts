import {
  digestRequest,
  digestText,
  type Job,
  type JobCommand,
  getRequestOrigin,
  type PreparedJob,
} from '../../../batch/index.ts';
import { atLine } from './job-line.ts';
import { createJobOutput } from './output.ts';
import { fillReferences, readReferences, refuseNearNames, usesText } from './references.ts';
import type { BatchFlags } from '../flags.ts';
import type { Deadline, PreparedRequest } from '../../../client/index.ts';
import type { JobSource } from './source.ts';
import { addUpCosts, computeGreatestBound } from '../../../cost/cost.ts';
import { findPrice } from '../../../cost/price.ts';
import type { Bound } from '../../../cost/types.ts';
import { formatFacts } from '../../../formats/format.ts';
import { notInBatches } from '../../../vendors/image-types.ts';
import { serviceNames, services } from '../../../vendors/services.ts';
import { getErrorCode, usageError } from '../../../errors.ts';
import { createKnownFiles, type KnownFiles } from '../../../files/known-files.ts';
import { readReason } from '../../../files/file-reason.ts';
import type { JsonValue } from '../../../json.ts';
import type { Settings, Use } from '../../../settings/types.ts';
import { byDefault } from '../../../settings/sources.ts';
import { buildRequest, type BuiltRequest } from '../../../cli/request/build-request.ts';
import type { TextPlaces } from '../../../cli/input/prompt.ts';
import type { Body } from '../../../body.ts';
import { version } from '../../../version.ts';
import type { Context, InputContext } from '../../../cli/context.ts';
import type { SchemaCheck } from '../../../cli/input/schema.ts';
import { openUrlFetcher, requireNetwork } from '../../../cli/run/fetch-urls.ts';
import { inputUrls } from '../../../cli/input/input-files.ts';
import type { FetchedFiles } from '../../../cli/input/attachments.ts';
import { type ConnectionFlags, readSettings } from '../../../cli/run/settings.ts';

/** Builds requests of jobs; settings, schemas and files that jobs share are read once each. */
export interface RequestBuilder {
  /** `origin` is that of the batch. Throws GatewayError usage with the job's place in its file. */
  check(job: Job, origin: string): Promise<PreparedJob>;
  settingsOf(job: Job): Promise<Settings>;
  digestBasis(job: Job, settings: Settings, origin: string): string;
}

/** The flags of the batch with what a job says in their place. */
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

/** What a job says about its settings. */
interface JobSettings {
  model?: string;
  profile?: string;
  places?: TextPlaces;
}

interface BuilderOptions {
  context: Context;
  flags: BatchFlags;
  source: Pick<JobSource, 'name' | 'folder' | 'adviseVariable'>;
  /** The folder that jobs write to. */
  output: string;
  /** The folder has no results: they are printed. */
  isFolderless?: boolean;
  /** The result of a job that is done, and the folder of its pictures. */
  readResult?: ResultOfJob;
  /** Called with the bytes of input files that were hashed since its last call. */
  onHashed?: (bytes: number) => void;
}

const uses: Readonly<Record<JobCommand, Use>> = {
  text: 'text',
  'image gen': 'image',
  'image edit': 'edit',
  chat: 'chat',
};

/** Distinct schemas that are kept compiled. */
const maxSchemas = 100;

export function createRequestBuilder(options: BuilderOptions): RequestBuilder {
  const { context, flags, source, output: folder, isFolderless = false, onHashed } = options;
  const { readResult = async () => undefined } = options;
  const { name: file, adviseVariable = adviseVars } = source;
  const settings = new Map<string, Promise<Settings>>();
  const compile = compileOnce(context.signal);
  const known = createKnownFiles();
  const openInputs = createInputContexts(context, { folder: source.folder, known });
  const quiet = { ...context, ui: { ...context.ui, warn: ignoreWrite, detail: ignoreWrite } };
  const fetcher = openUrlFetcher(flags, context);

  function settingsOf({ command, values, line }: Job): Promise<Settings> {
    const { model, profile } = values as JobSettings;
    const key = JSON.stringify([command, model, profile]);
    // Warnings of the settings are printed once, not once a model.
    const from = settings.size === 0 ? context : quiet;
    const read = settings.get(key) ?? readSettings(withJob(flags, values), from, uses[command]).then(withoutStdin);
    settings.set(key, read);
    if (profile === undefined) return read;
    return read.catch((error: unknown) => {
      throw atLine(file, line, error);
    });
  }

  const digestBasis = createBasisDigest();

  return {
    settingsOf,
    digestBasis,
    async check(job, batchOrigin) {
      const found = await settingsOf(job);
      const origin = getRequestOrigin(found);
      const { inputs, warnings, hasReadFiles, close } = openInputs(job.command);
      const urls = inputUrls(job.values);
      const isNaming = job.names !== undefined;
      const build = (fetched?: FetchedFiles, texts?: ReadonlyMap<string, string>): Promise<BuiltRequest> =>
        buildJob(isNaming ? fillReferences(job, texts) : job, {
          context: inputs,
          settings: found,
          compile,
          adviseVariable,
          fetched,
        });
      const toOperation = (built: BuiltRequest): PreparedRequest => toPreparedRequest(built, job, flags);
      try {
        if (job.names && !job.parents)
          throw usageError(`@${job.names[0]} names another job, and --stream knows none`, 'use a job file');
        refuseNearNames(job);
        requireNetwork(urls, found, flags);
        const built = await build();
        if (found.lane.value === 'batch') requireBatchable(built, found);
        const elsewhere = origin === batchOrigin ? undefined : origin;
        const path = [built.post.path, ...(job.parents ?? []).map(({ name, request }) => `@${name} ${request}`)].join(
          '\n',
        );
        const identity = { path, body: withoutLane(built), origin: elsewhere };
        const digest = await digestRequest(identity, { onBytes: onHashed, known });
        const { atEnd } = inputs;
        // What the kept list of models says of efforts can be another one tomorrow.
        const isOfFiles = hasReadFiles() || urls.length > 0 || isNaming || built.request.efforts !== undefined;
        const fetchInputs = async (deadline: Deadline): Promise<PreparedRequest> => {
          // The inputs have warned before.
          warnings.length = 0;
          const fetched = await fetcher.fetchAll(urls, { settings: found, deadline, atEnd });
          if (!isNaming) return toOperation(await build(fetched));
          const { files, texts } = await readReferences(job, readResult);
          return toOperation(await build(new Map([...fetched, ...files]), texts));
        };
        return {
          ...digest,
          basis: isOfFiles ? undefined : digestBasis(job, found, batchOrigin),
          settings: found,
          operation: toOperation(built),
          bound: computeRequestBound(built, found, job),
          costOf: (came) => addUpCosts(came, found),
          boundOf: (body) => computeRequestBound({ ...built, post: { ...built.post, body } }, found, job),
          retries: getRetries(built, flags),
          isFlex: built.request.tier !== undefined,
          fetchInputs: urls.length > 0 || isNaming ? fetchInputs : undefined,
          output: createJobOutput(job, {
            built,
            settings: found,
            warnings,
            atEnd,
            folder,
            isFolderless,
            flags,
            context,
          }),
          close,
        };
      } catch (error) {
        await close();
        throw atLine(file, job.line, readable(error));
      }
    },
  };
}

function toPreparedRequest(
  { post, model, defaultFor, fallback }: BuiltRequest,
  { values }: Job,
  { maxCost }: BatchFlags,
): PreparedRequest {
  const { candidates } = values as { candidates?: number };
  return {
    post,
    model,
    candidates,
    // A limit holds for models whose price is known: no other one takes the place of a default.
    ...(defaultFor && maxCost === undefined && { defaultFor }),
    ...(fallback !== undefined && { fallback }),
  };
}

/** Hashes what requests are built from; the settings that jobs share once. */
function createBasisDigest(): RequestBuilder['digestBasis'] {
  const shared = new WeakMap<Settings, string>();
  return ({ command, values }, settings, origin) => {
    // Another version may build another request of the same.
    const rest = shared.get(settings) ?? digestText(JSON.stringify([version, settings]));
    shared.set(settings, rest);
    return digestText(`${origin} ${rest} ${command} ${JSON.stringify(values)}`);
  };
}

/** The longest wait of a job between its retries; the flex lane has its own. */
const longestWaitMs = 300_000;

function getRetries({ request }: BuiltRequest, { retryMaxTime }: BatchFlags): PreparedJob['retries'] {
  return retryMaxTime === undefined && request.tier ? {} : { maxWaitMs: retryMaxTime ?? longestWaitMs };
}

/**
 * What identifies a request. A folder can go on in another lane: the tier of the lane is not a part of it. Nor is what asks the
 * content format not to keep it: older folders lack that.
 */
function withoutLane({ request, quirks, post: { body, format } }: BuiltRequest): Body {
  const { tierField } = formatFacts[format];
  const { store, ...others } = body;
  const rest = format === 'content' && quirks.keeps && store === false ? others : body;
  if (request.tier === undefined || tierField === undefined || rest[tierField] !== request.tier) return rest;
  const { [tierField]: _, ...plain } = rest;
  return plain;
}

/** What a job can cost, recorded even without a limit: a later run may have one. */
function computeRequestBound(
  { post, format, model, fallback = model }: BuiltRequest,
  { prices, lane }: Settings,
  job: Job,
): Bound | undefined {
  if (Object.keys(prices).length === 0) return undefined;
  const found = [model, fallback].flatMap((name) => findPrice(prices, name) ?? []);
  if (found.length < 2) return undefined;
  const bound = computeGreatestBound(post.body, found, { ...format.limits(post.body), lane });
  // The texts of other jobs are not known yet.
  return bound && usesText(job) ? { ...bound, isMost: false } : bound;
}

/** What checks them is loaded with the first one. */
async function compileJobSchema(schema: JsonValue, signal: AbortSignal): Promise<SchemaCheck> {
  return (await import('../../../cli/input/schema.ts')).compileSchema(schema, { signal });
}

function compileOnce(signal: AbortSignal): (schema: JsonValue) => Promise<SchemaCheck> {
  const schemas = new Map<string, Promise<SchemaCheck>>();
  return (schema) => {
    const text = JSON.stringify(schema);
    const known = schemas.get(text) ?? compileJobSchema(schema, signal);
    if (schemas.size < maxSchemas) schemas.set(text, known);
    return known;
  };
}

async function buildJob(
  job: Job,
  parts: Omit<Parameters<typeof buildRequest>[2], 'use'> & { settings: Settings },
): Promise<BuiltRequest> {
  const { command, values } = job;
  const images = (values['image'] ?? []) as readonly unknown[];
  if (command === 'image edit' && images.length === 0)
    throw usageError('there is no image to edit', 'for example: "image":["photo.jpg"]');
  return buildRequest([], values, { ...parts, use: uses[command] });
}

function withoutStdin(settings: Settings): Settings {
  return { ...settings, noStdin: byDefault(true) };
}

function adviseVars(name: string): string {
  return `give it a value: "vars": {${JSON.stringify(name)}: "…"}\nto send {{…}} unchanged: "vars": false`;
}

/** An input file that went away between two looks. */
function readable(error: unknown): unknown {
  const code = getErrorCode(error) ?? '';
  return /^E[A-Z]+$/.test(code) && !('class' in (error as object))
    ? usageError(`an input file cannot be read: ${readReason(error)}`, 'check the files that the job names', error)
    : error;
}

/** What one job reads its inputs with. */
interface JobInputs {
  inputs: InputContext;
  /** What they warned of: it is in the job's result. */
  warnings: string[];
  /** Whether it asked where a file is. */
  hasReadFiles(): boolean;
  /** Runs what was registered for the end. */
  close(): Promise<void>;
}

/** Paths are relative to the folder of the jobs, nothing is printed, and stdin is not read. */
function createInputContexts(
  { io, signal, ui }: Context,
  { folder, known }: { folder: string; known: KnownFiles },
): (command: string) => JobInputs {
  const stdin = { claimedBy: 'the jobs', claim: refuseStdin, reserve: refuseStdin };
  return (command) => {
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
    const warn = async (text: string): Promise<void> => void warnings.push(ui.redact(text));
    return {
      warnings,
      hasReadFiles: () => hasReadFiles,
      inputs: {
        io: files,
        signal,
        stdin,
        command,
        known,
        ui: { note: ignoreWrite, notice: ignoreWrite, detail: ignoreWrite, warn },
        atEnd: (cleanup) => void cleanups.unshift(cleanup),
      },
      async close() {
        for (const cleanup of cleanups.splice(0)) await cleanup().catch(() => undefined);
      },
    };
  };
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
  const { lacksBatches, title } = services[service.value];
  if (lacksBatches) {
    const having = serviceNames.filter((name) => name !== 'gateway' && !services[name].lacksBatches);
    throw usageError(`no batch API of ${title} is known`, `use --lane live; these have one: ${having.join(', ')}`);
  }
  // Another server at another address decides for itself.
  const refused = quirks.service.startsWith(`${service.value}/`) ? notInBatches[service.value] : undefined;
  if (refused?.models.test(model))
    throw usageError(
      `the batches of ${title} do not take ${model}`,
      `name another model for these jobs: "model": "${refused.instead}" or -m ${refused.instead}; or --lane live, at full price`,
    );
}
