import { openPictures } from '../input/session-pictures.ts';
import { lastSystem, openCallResults, type SessionMessage } from '../chat/message.ts';
import {
  type Body,
  type Deadline,
  type Effort,
  encodeFlexibly,
  encodeRequest,
  type FieldName,
  findEffortField,
  findField,
  findOwn,
  type Format,
  formatFacts,
  type FormatName,
  formatNames,
  getFieldFlag,
  getQuirks,
  imagesFields,
  type JsonFields,
  jsonNames,
  type JsonObject,
  type JsonValue,
  lackedFields,
  listVendors,
  loadFormat,
  type PlainFields,
  plainNames,
  type PlainRequest,
  type PreparedRequest,
  type Quirks,
  readTurns,
  requestFields,
  type RequestLimits,
  requirePictures,
  type ServiceName,
  services,
  type Turn,
  usageError,
  type Use,
} from '../../library/index.ts';
import type { Settings } from '../settings/types.ts';
import type { InputContext } from '../context.ts';
import { type FieldFlags, type FileOrJson } from '../flags/fields.ts';
import { quoteWord } from '../flags/flag.ts';
import { applyFieldChanges, placeChanges } from '../flags/set.ts';
import { type Attached, type FetchedFiles, type Inputs, readInputs } from '../input/attachments.ts';
import {
  type TemplateValues,
  fillLeaves,
  fillText,
  readTemplateValues,
  requireColumn,
  type VarFlags,
  warnOfUnused,
} from '../input/template-variables.ts';
import { readJsonFlag, readListFlag, readObjectFlag, readTextFlag } from '../input/input-files.ts';
import { type PromptFlags, readPrompt, type TextPlaces } from '../input/prompt.ts';
import { type SchemaCheck, compileSchema } from '../input/schema.ts';

/** The flags that shape a request, as they were typed; each command has some of them. */
export interface RequestFlags extends FieldFlags, PromptFlags, VarFlags {
  /** Earlier turns of a prompt file. */
  turns?: readonly Turn[];
  sidecar?: boolean | undefined;
  /** `--stream`, or false by `--no-stream`. */
  stream?: boolean;
  places?: TextPlaces;
}

/** The sources of a request beside its words and flags. */
export interface Building {
  context: InputContext;
  use: Use;
  /** The files of URLs. */
  fetched?: FetchedFiles | undefined;
  /** The time of the command; of a batch, none. */
  deadline?: (() => Deadline) | undefined;
  settings: Settings;
  /** Replaced if many requests share a schema. */
  compile?: ((schema: JsonValue) => Promise<SchemaCheck>) | undefined;
  /** Says how to set a template variable without a value, if it is not set by a flag. */
  adviseVariable?: TemplateValues['advice'] | undefined;
  /** The earlier turns of the session. */
  earlier?: readonly SessionMessage[] | undefined;
  /** The media type of the name of `-o`. */
  imageType?: string | undefined;
}

/** A request that is ready to be shown or sent, and the conditions for its answer. */
export interface BuiltRequest extends Pick<PreparedRequest, 'post' | 'model' | 'defaultFor' | 'fallback'> {
  /** The request in the words of no format, which `post` encodes. */
  plain: PlainRequest;
  format: Format;
  quirks: Quirks;
  quirksIn: (format: FormatName) => Quirks;
  prompt: string | undefined;
  /** The `--schema` that the answer must fit. */
  check: SchemaCheck | undefined;
  /** Input images. */
  inputs: readonly Attached[];
  /** The size for the check of an image: of `--size`, or the width and height that the format made of it. */
  size: string | undefined;
}

/**
 * The request of a command that asks a model, in the format that the settings name: the files that flags name are read first, so that
 * `-` finds its one reader, then the prompt. Throws GatewayError usage.
 */
export async function buildRequest(
  words: readonly string[],
  typed: RequestFlags,
  building: Building,
): Promise<BuiltRequest> {
  const { context, settings, use, earlier } = building;
  const flags = typed.set ? { ...typed, set: placeChanges(typed.set, settings.format) } : typed;
  const format = await loadFormat(settings.format);
  refuseLackingFlags(flags, building);
  const templateValues = await readTemplateValues(flags, context, building.adviseVariable);
  const files = await readFiles(flags, templateValues, context);
  const check =
    files.schema === undefined || makesImage(use) ? undefined : await compileSchemaFlag(files.schema, building);
  const quirksIn = (name: FormatName): Quirks => getQuirks(settings.service, name, settings.baseUrl);
  const quirks = quirksIn(format.name);
  const turns = await readEarlierTurns(flags, { body: files.body, templateValues, format, quirks }, building);
  const { inputs, media, mask } = await readMediaFlags(flags, building);
  const prompt = await readPrompt(words, flags, context, {
    readsStdin: !makesImage(use),
    noStdin: makesImage(use) || settings.noStdin,
    optional: !earlier && (files.body !== undefined || turns !== undefined),
    templateValues,
  });
  if (flags.var) await warnOfUnused(flags.var, templateValues, context);
  if (flags.row && templateValues) requireColumn(flags.row, templateValues, prompt);
  const maxTokens = chooseTokenLimit(settings, files.body && format.limits(files.body));
  const isEffortSet = (flags.effort ?? settings.effort) !== undefined;
  const effort = isEffortSet ? findWantedEffort(settings, flags, files.body) : undefined;
  const efforts = effort && (await settings.findEfforts?.());
  const parts = { files, turns, prompt, media, mask, maxTokens, effort, efforts };
  const plain = toPlainRequest(flags, parts, building);
  const post = await encodePost(plain, flags, { format, quirks, quirksIn }, building);
  const { size: sides } = post.body;
  const size = flags.size !== undefined && /^\d+x\d+$/.test(String(sides)) ? String(sides) : flags.size;
  const named = flags.fallback ?? settings.fallback;
  const fallback = named === undefined ? undefined : (findOwn(settings.aliases, named) ?? named);
  // An effort that the other model does not take is a mistake now, and not once the first model has refused.
  if (fallback !== undefined) post.encodeEffort?.(fallback);
  return {
    plain,
    post,
    format,
    quirks,
    quirksIn,
    model: plain.model,
    defaultFor: settings.origins.model?.kind === 'service' ? use : undefined,
    fallback,
    prompt,
    check,
    inputs,
    size,
  };
}

/** The request in its format, with `--set` laid over the body. Throws GatewayError usage for a request that cannot be encoded. */
async function encodePost(
  request: PlainRequest,
  flags: RequestFlags,
  { format, quirks, quirksIn }: Pick<BuiltRequest, 'format' | 'quirks' | 'quirksIn'>,
  { settings, context }: Building,
): Promise<BuiltRequest['post']> {
  // A request with fields of one format (`--format`, `--set`) can be sent in that format only.
  const isOpen = settings.origins.format.kind === 'service' && flags.set === undefined;
  const encoded = isOpen ? encodeFlexibly(request, format, quirksIn) : encodeRequest(request, format, quirks);
  if (encoded.note !== undefined) await context.ui.warn(encoded.note);
  const { reserved } = formatFacts[format.name];
  const post = flags.set ? { ...encoded, body: applyFieldChanges(encoded.body, flags.set, reserved) } : encoded;
  requirePictures(post, request.use);
  const candidates = request.stream ? format.limits(post.body).candidates : 1;
  // The texts of several candidates would be mixed.
  if (candidates > 1)
    throw usageError(
      `--stream prints one candidate, and ${candidates} are asked for`,
      'leave one of them out: --stream or --candidates',
    );
  return post;
}

/** The parts of a request that are no flags. */
type RequestParts = Pick<PlainRequest, 'prompt' | 'media' | 'mask' | 'maxTokens' | 'effort' | 'efforts'> & {
  files: Awaited<ReturnType<typeof readFiles>>;
  turns: EarlierTurns | undefined;
};

type EarlierTurns = Pick<PlainRequest, 'turns' | 'ownTurns'>;

function toPlainRequest(
  flags: RequestFlags,
  parts: RequestParts,
  { use, settings, earlier, imageType }: Building,
): PlainRequest {
  const { files, turns } = parts;
  const given = Object.entries(flags).filter(([name]) => (plainNames as string[]).includes(name));
  return {
    use,
    ...(Object.fromEntries(given) as PlainFields),
    ...files,
    effort: parts.effort,
    efforts: parts.efforts,
    search: flags.search === true ? true : undefined,
    stream: makesImage(use) ? undefined : use === 'chat' ? flags.stream !== false : flags.stream === true,
    maxTokens: flags.maxTokens ?? parts.maxTokens,
    prompt: parts.prompt,
    media: parts.media,
    mask: parts.mask,
    turns: turns?.turns,
    ownTurns: turns?.ownTurns,
    system: files.system ?? (earlier && lastSystem(earlier)),
    results: earlier && openCallResults(earlier.at(-1)),
    imageType,
    model: settings.model,
    keepThink: (flags.keepThink ?? settings.keepThink) || undefined,
    store: (flags.store ?? settings.store) || undefined,
    tier: settings.lane === 'flex' ? 'flex' : undefined,
  };
}

function makesImage(use: Use): boolean {
  return use === 'image' || use === 'edit';
}

/** The limit of the settings, unless the body has one. The default is for the format that demands a limit: it is made there. */
function chooseTokenLimit({ maxTokens, origins }: Building['settings'], body?: RequestLimits): number | undefined {
  return body?.maxTokens !== undefined || origins.maxTokens?.kind === 'default' ? undefined : maxTokens;
}

/** The effort of the flag or the settings, unless the body or `--set` has one. Throws GatewayError usage if two were typed. */
function findWantedEffort(
  { effort, origins }: Building['settings'],
  flags: RequestFlags,
  body: Body = {},
): Effort | undefined {
  const isTyped = flags.effort !== undefined || origins.effort?.kind === 'flag';
  const set = findEffortField(applyFieldChanges({}, flags.set ?? [], []));
  if (isTyped && set !== undefined)
    throw usageError(`--effort and --set ${set} both say how much the model thinks`, 'keep one of them');
  const isOpen = set === undefined && (isTyped || findEffortField(body) === undefined);
  return flags.effort ?? (isOpen ? effort : undefined);
}

/** The fields that are JSON or a file, read in the order of the table. */
async function readFiles(flags: RequestFlags, templateValues: TemplateValues | undefined, context: InputContext) {
  const system = await readSystem(flags, templateValues, context);
  const files: [string, JsonValue][] = [];
  for (const name of jsonNames) {
    const value = flags[name];
    if (value !== undefined) files.push([name, await readJsonField(name, value, context)]);
  }
  return { system, ...(Object.fromEntries(files) as JsonFields) };
}

async function readJsonField(
  name: keyof JsonFields,
  value: NonNullable<RequestFlags[keyof JsonFields]>,
  context: InputContext,
): Promise<JsonValue> {
  const field = requestFields[name];
  const flag = getFieldFlag(field);
  switch (field.kind) {
    case 'list':
      return readListFlag(flag, value as FileOrJson, { key: name, context });
    case 'object':
    case 'body':
      return readObjectFlag(flag, value as FileOrJson, context);
    case 'schema':
      return readJsonFlag(flag, value as FileOrJson, context);
    case 'pairs':
      return Object.fromEntries((value as JsonObject[]).flatMap((one) => Object.entries(one)));
    default:
      return value as JsonValue;
  }
}

/** The system instruction, with its template variables filled. Throws GatewayError usage. */
export async function readSystem(
  { system, systemFile, places }: RequestFlags,
  templateValues: TemplateValues | undefined,
  context: InputContext,
): Promise<string | undefined> {
  if (system !== undefined && systemFile !== undefined)
    throw usageError('the system instruction is given twice: --system and --system-file', 'keep one of them');
  if (system !== undefined) return fillText(system, places?.system ?? '--system', templateValues);
  if (systemFile === undefined) return undefined;
  const text = await readTextFlag('--system-file', systemFile, context);
  return fillText(text, describePlace('--system-file', systemFile), templateValues);
}

interface EarlierParts {
  body: Body | undefined;
  templateValues: TemplateValues | undefined;
}

/** The turns before the prompt, if there are some: of the session, or of the flags. Throws GatewayError usage if both have some. */
async function readEarlierTurns(
  flags: RequestFlags,
  { body, templateValues, format, quirks }: EarlierParts & Pick<BuiltRequest, 'format' | 'quirks'>,
  building: Building,
): Promise<EarlierTurns | undefined> {
  const { earlier, settings, context } = building;
  if (earlier === undefined) {
    const isGiven = (flags.turns ?? flags.contents ?? flags.messages) !== undefined;
    return isGiven ? readTurnFlags(flags, templateValues, building) : undefined;
  }
  if (body?.[formatFacts[settings.format].turnsField] !== undefined) throw givenTwice('--body');
  if (flags.messages !== undefined) throw givenTwice('--messages');
  return { turns: await openPictures(earlier, choosePictures({ format, quirks }, context)) };
}

/** The turns of a prompt file, of `--contents` or of `--messages`, which can have them in the words of the format. */
async function readTurnFlags(
  { contents, messages, turns, places }: RequestFlags,
  templateValues: TemplateValues | undefined,
  { settings, context }: Building,
): Promise<EarlierTurns> {
  if (turns) {
    const filled = fillLeaves(turns as unknown as JsonValue[], places?.turns ?? 'the turns', templateValues);
    return { turns: filled as unknown as Turn[] };
  }
  const key = contents === undefined ? 'messages' : 'contents';
  const [flag, given] = [`--${key}`, contents ?? messages ?? []];
  const list = await readListFlag(flag, given, { key, context });
  const place = places?.turns ?? describePlace(flag, given);
  const filled = fillLeaves(list, place, templateValues);
  if (key === formatFacts[settings.format].turnsField) return { ownTurns: filled };
  return { turns: readTurns(filled, place) };
}

function describePlace(flag: string, path: FileOrJson): string {
  return typeof path === 'string' && path !== '-' ? `${flag} ${quoteWord(path)}` : flag;
}

/** The service whose pictures a request can hold, since it drew them. */
export function choosePictures(
  { format, quirks }: Pick<BuiltRequest, 'format' | 'quirks'>,
  { ui }: InputContext,
): Parameters<typeof openPictures>[1] {
  const { returnsPictures } = formatFacts[format.name];
  return { service: returnsPictures && quirks.service, warn: (text) => ui.warn(text) };
}

/** Images, files and the mask of the first image. */
async function readMediaFlags(flags: RequestFlags, building: Building): Promise<Inputs> {
  const { image = [], attach = [], mask } = flags;
  if (image.length + attach.length === 0 && mask === undefined) return { inputs: [], media: [] };
  const { takesTextFiles } = formatFacts[building.settings.format];
  return readInputs(flags, { ...building, takesTextFiles });
}

/** Throws GatewayError usage for a value that is not a JSON Schema. */
async function compileSchemaFlag(schema: JsonValue, { compile, deadline }: Building): Promise<SchemaCheck> {
  if (compile) return compile(schema);
  return compileSchema(schema, { signal: deadline?.().signal });
}

function givenTwice(flag: string): Error {
  return usageError(`${flag} and the session both hold earlier turns`, 'keep one of them');
}

/** Throws GatewayError usage for a flag that the format has no place for, before anything is read or sent. */
export function refuseLackingFlags(flags: RequestFlags, { settings, use }: Building): void {
  const { format, lane, service, origins } = settings;
  const { tierField, title, turnsField } = formatFacts[format];
  const lacking = (flag: string, hint: string): Error => usageError(`${flag}: ${title} does not have this field`, hint);
  const others = (field: LackedField): string => whoHas(field, origins.format.kind === 'service', use);
  if (lane === 'flex' && services[service].lacksFlex) {
    const { title: name } = services[service];
    const hint = `use --lane live; ${whoHas('tier', true, use)}`;
    throw usageError(`--lane flex (${origins.lane.from}): ${name} does not have this lane`, hint);
  }
  if (lane === 'flex' && tierField === undefined)
    throw lacking(`--lane flex (${origins.lane.from})`, `use --lane live; ${others('tier')}`);
  if (flags.contents !== undefined && turnsField !== 'contents') throw lacking('--contents', 'use --messages of chat');
  for (const field of lackedFields[format]) {
    if (flags[field] !== undefined) throw lacking(getFieldFlag(requestFields[field]), `leave it out; ${others(field)}`);
  }
}

/** A field, or the tier of the lane. */
type LackedField = FieldName | 'tier';

/** `--service openai has it`, or of a format that was named `the content format and the completions format have it`. */
function whoHas(field: LackedField, isOfService: boolean, use: Use): string {
  const formatHas = (name: FormatName): boolean =>
    field === 'tier' ? formatFacts[name].tierField !== undefined : !lackedFields[name].includes(field);
  const hasAt = (name: ServiceName): boolean => {
    const { formats, quirks, isKeyless } = services[name];
    const { imagesOperation: operation } = quirks;
    const isOfPictures = use === 'image' || use === 'edit';
    if (isOfPictures && operation !== undefined)
      return (imagesFields[operation] as readonly string[]).includes(field) && !isKeyless;
    if (field !== 'tier' && findField(field)?.isOfImages) return false;
    return formatHas(formats[use] as FormatName) && !isKeyless;
  };
  const having = isOfService
    ? listVendors(use).filter(hasAt)
    : formatNames.filter(formatHas).map((name) => formatFacts[name].title);
  const names = new Intl.ListFormat('en-GB').format(having);
  return `${isOfService ? '--service ' : ''}${names} ${having.length > 1 ? 'have' : 'has'} it`;
}
