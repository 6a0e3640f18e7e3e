import type { Effort, ModelEfforts } from './effort.ts';
import type { ServiceName, Use } from './services.ts';

/*
 * Rules for replacing a default that its service does not have any more, and for the meaning of models' names. Vendors change
 * their schemes of names: if no rule fits, nothing is replaced.
 */

/** The facts of a model from its service that the rules use. */
export interface ModelFacts {
  /** The name that `-m` takes. */
  id: string;
  /** The day on which it ends, or has ended: `2026-12-11`. */
  endsOn?: string | undefined;
  /** The service's own word for the stage of its life: `active`, `deprecated`, `retired`. */
  lifecycle?: string | undefined;
  /** The model that the service names to follow it. */
  successor?: string | undefined;
  /** The family that the vendor sorts it into: `sonnet`. */
  line?: string | undefined;
  /** The time at which the model came out, or came here, in ISO 8601. */
  createdAt?: string | undefined;
  /** The kinds of output: `text`, `image`. */
  outputs?: readonly string[] | undefined;
  /** How much the model can think, in the words of `--effort`, and the value that turns thinking off. */
  efforts?: readonly Effort[] | undefined;
  thinkingOff?: ModelEfforts['off'];
  /** A local server has the model in memory. */
  isLoaded?: boolean | undefined;
}

/** The end of a model as a service tells it. */
export interface ModelEnd extends Pick<ModelFacts, 'endsOn' | 'lifecycle' | 'successor'> {
  model: string;
}

/** A model that ends within this number of days is said to end, and is not chosen. */
const endingDays = 60;

const dayMs = 86_400_000;

/** Whole days from a time to the end of a model, fewer than 0 after it; undefined if its end is not known. */
export function daysLeft({ endsOn }: Pick<ModelFacts, 'endsOn'>, now: number): number | undefined {
  return endsOn === undefined ? undefined : Math.floor((Date.parse(endsOn) - now) / dayMs) + 1;
}

/** Whether a model ends within this number of days: by its day, or without one by the word of its service. */
export function endsWithin(days: number, model: Omit<ModelEnd, 'model'>, now: number): boolean {
  const left = daysLeft(model, now);
  return left === undefined ? endWords.test(model.lifecycle ?? '') : left <= days;
}

/** Whether a model ends soon, or its service calls it deprecated. */
export function isEnding(model: Omit<ModelEnd, 'model'>, now: number): boolean {
  return endsWithin(endingDays, model, now) || endWords.test(model.lifecycle ?? '');
}

/**
 * The words for a model that will be removed. Anthropic's list: `deprecated`, `retired` (@anthropic-ai/sdk, resources/models,
 * 2026-11); the stage of a Gemini reply: `LEGACY`, `DEPRECATED`, `RETIRED` (@google/genai, ModelStage, 2026-11).
 */
const endWords = /^(?:deprecated|retired|legacy|shutdown)$/i;

/** A name with a date, or of a preview: vendors remove both early. */
const passingName =
  /(?:^|[-.@:/])(?:preview|exp|experimental|alpha|beta)(?=$|[-.:])|[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2})$/i;

/** Patterns of names, the first choice first; the group is the version, and of the same version a lower rank wins. */
type NamePatterns = readonly RegExp[];

/**
 * The names of each default, from the vendors' lists of 2025-07 to 2026-11 (openai, @google/genai and @anthropic-ai/sdk from npm,
 * and the history of models.dev). The highest version that fits a pattern counts; a later pattern counts only if the first finds
 * nothing.
 */
const patterns: Readonly<Partial<Record<ServiceName, Readonly<Partial<Record<Use, NamePatterns>>>>>> = {
  openai: {
    // From version 6 on "mini" is "luna".
    text: [/^gpt-(\d+(?:\.\d+)?)-(?:luna|mini)$/],
    image: [/^gpt-image-(\d+(?:\.\d+)?)(?:-flare)?$/],
  },
  gemini: {
    text: [/^gemini-(\d+(?:\.\d+)?)-flash$/],
    image: [/^gemini-nano-banana-(\d+(?:\.\d+)?)$/, /^gemini-(\d+(?:\.\d+)?)-flash-image$/],
  },
  anthropic: {
    // A list without lifecycle and line: "claude-sonnet-5-5" is 5.5.
    text: [/^claude-sonnet-(\d+(?:-\d{1,2})?)$/],
  },
  openrouter: {
    // OpenRouter's moving aliases have a tilde in front and no version.
    text: [/^~google\/gemini-flash-latest$/, /^openrouter\/auto$/],
  },
};

/** Local servers: their models have no end, and any name. */
const localServices: ReadonlySet<ServiceName> = new Set(['ollama', 'lmstudio', 'vllm', 'llamacpp']);

/** The word of the preferred name if two names have the same version. */
const preferred = /-(?:luna|flare)$/;

/**
 * The model that replaces a default of a service, from the service's own list; undefined if no rule finds one. Models that end
 * soon, previews and dated names are left out.
 */
export function chooseDefault(
  { service, use, gone }: { service: ServiceName; use: Use; gone?: string | undefined },
  models: readonly ModelFacts[],
  now: number,
): string | undefined {
  const lasting = models.filter((model) => model.id !== gone && !isEnding(model, now) && !passingName.test(model.id));
  const kind = kindOf(use);
  if (localServices.has(service))
    return chooseLocal(models.filter((model) => model.id !== gone && servesUse(model, use)));
  if (service === 'anthropic' && kind === 'text') {
    const newest = newestOf(lasting.filter(({ line }) => line === 'sonnet'));
    if (newest !== undefined) return newest;
  }
  if (service === 'openrouter' && kind === 'image')
    return newestOf(lasting.filter(({ id, outputs }) => id.startsWith('google/') && outputs?.includes('image')));
  for (const pattern of patterns[service]?.[kind] ?? []) {
    const found = lasting.filter(({ id }) => pattern.test(id)).toSorted((a, b) => compareNames(a.id, b.id, pattern));
    const [best] = found;
    if (best !== undefined) return best.id;
  }
  return undefined;
}

/** `claude-x ends on 2026-12-11, in 15 days`, with its successor if the service names one. */
export function describeEnd(end: ModelEnd, now: number): string {
  const { model, endsOn, lifecycle = 'deprecated', successor } = end;
  const days = daysLeft(end, now) ?? 0;
  const when = days < 0 ? `ended on ${endsOn}` : `ends on ${endsOn}, in ${days} ${days === 1 ? 'day' : 'days'}`;
  const next = successor === undefined ? '' : `; its successor is ${successor}`;
  return `${model} ${endsOn === undefined ? `is ${lifecycle.toLowerCase()}` : when}${next}`;
}

/**
 * The end of a model in the headers of a reply: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a link to the
 * `successor-version` (RFC 5829). Gateways send them; no document of OpenAI, Anthropic or Google has them (2026-11).
 */
export function readEndHeaders(
  headers: Readonly<Record<string, string | undefined>>,
): Omit<ModelEnd, 'model'> | undefined {
  const { sunset = '', deprecation, link = '' } = headers;
  const sunsetAt = Date.parse(sunset);
  const endsOn = Number.isNaN(sunsetAt) ? undefined : new Date(sunsetAt).toISOString().slice(0, 10);
  const lifecycle = deprecation === undefined || /^(?:false|)$/i.test(deprecation) ? undefined : 'deprecated';
  if (endsOn === undefined && lifecycle === undefined) return undefined;
  const target = /<([^<>]{1,500})>[^<>]{0,200};\s*rel="?successor-version\b/i.exec(link)?.[1];
  return { endsOn, lifecycle, successor: target && /[^/?#]+(?=\/?(?:[?#]|$))/.exec(target)?.[0] };
}

/** The model of a local server: the only model in memory, otherwise the newest; undefined if that is not clear. */
function chooseLocal(models: readonly ModelFacts[]): string | undefined {
  const loaded = models.filter(({ isLoaded }) => isLoaded);
  if (loaded.length === 1) return loaded[0]?.id;
  return models.length === 1 ? models[0]?.id : newestOf(models);
}

function newestOf(models: readonly ModelFacts[]): string | undefined {
  const dated = models.filter(({ createdAt }) => createdAt !== undefined);
  return dated.toSorted((a, b) => Date.parse(b.createdAt ?? '') - Date.parse(a.createdAt ?? ''))[0]?.id;
}

/** Sorts the highest version first, and within a version the preferred word. */
function compareNames(one: string, other: string, pattern: RegExp): number {
  const version = (id: string): number[] => (pattern.exec(id)?.[1] ?? '0').split(/[.-]/).map(Number);
  const [a, b] = [version(one), version(other)];
  const at = a.findIndex((number, index) => number !== (b[index] ?? 0));
  const byVersion = at < 0 ? b.length - a.length : (b[at] ?? 0) - (a[at] ?? 0);
  return byVersion || Number(preferred.test(other)) - Number(preferred.test(one));
}

/** The name that follows "use", as in "Please use `gpt-x` instead" and "migrate to claude-y". */
const successorWords =
  /\b(?:use|try|migrate to|switch to|move to|upgrade to|replaced by)\s+(?:the\s+)?[`'"]?(?:models\/)?([~\w][\w./:~-]*\d(?:[\w.-]*\w)?|[~\w][\w./~-]*-latest)/i;

/** The model that a service's words name in the place of another. */
export function findSuccessor(message: string): string | undefined {
  return successorWords.exec(message.slice(0, 1000))?.[1];
}

/** Names that show the output of a model if the list does not: images, or neither text nor images. */
const imageNames = /image|banana|dall-e|imagen|flux|diffusion|seedream|recraft/i;
const otherNames = /embed|whisper|tts|transcribe|moderation|rerank|realtime|audio|speech|lyria|veo|sora|video/i;

/** The kind of model for a use: `chat` takes models for `text`, and `edit` models for `image`. */
export function kindOf(use: Use): 'text' | 'image' {
  return use === 'edit' || use === 'image' ? 'image' : 'text';
}

/** Whether a model can serve a use, by its list or otherwise by its name. */
export function servesUse({ id, outputs }: Pick<ModelFacts, 'id' | 'outputs'>, use: Use): boolean {
  const makesImages = outputs?.includes('image') ?? imageNames.test(id);
  if (kindOf(use) === 'image') return makesImages;
  return outputs?.includes('text') ?? !(makesImages || otherNames.test(id));
}
