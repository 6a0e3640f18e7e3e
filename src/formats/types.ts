import type { Effort } from '../vendors/effort.ts';
import type { SchemaForm } from '../vendors/schema-forms.ts';
import type { SearchWay } from '../vendors/search.ts';
import type { ImagesOperation } from '../vendors/image-types.ts';

/** The name of a format. */
export type FormatName = 'content' | 'messages' | 'completions' | 'responses';

/** A row of the table of keys (formats 1): a format, and of the content format what is asked for. */
export type AuthUse = 'text' | 'image' | Exclude<FormatName, 'content'>;

/** In what a service differs from others of its format. */
export interface Quirks {
  /** Which service it is: what it signed goes back only to it. */
  service: string;
  /** The field that limits the tokens of an answer, if the format has two. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** The field of the seed, if it is not `seed`. */
  seedField?: 'random_seed' | undefined;
  /** A stream has its usage only if the request asks for it. */
  includeUsage?: boolean | undefined;
  /** How it is told an effort, if not as others of its format: in an object, or in fewer words. */
  effort?: 'object' | 'ollama' | undefined;
  /** How it is asked for a search in the completions format. */
  search?: SearchWay | undefined;
  /** How it wants a JSON Schema, if not as it is. */
  schema?: SchemaForm | undefined;
  /** It may keep requests and replies that do not say `store: false`. */
  keeps?: boolean | undefined;
  /** Images have an operation of their own, in the words of this service. */
  imagesOperation?: ImagesOperation | undefined;
}

/** The plain fields of a request, which the library has under the same names. */
export interface PlainFields {
  /** The text of the last turn: a prompt or an instruction. */
  prompt?: string | undefined;
  system?: string | undefined;
  maxTokens?: number | undefined;
  temperature?: number | undefined;
  topP?: number | undefined;
  topK?: number | undefined;
  /** How much the model thinks; nothing is sent without it. */
  effort?: Effort | undefined;
  /** Adds the service's own search tool. */
  search?: boolean | undefined;
  /** Leaves it to the service whether it keeps the request and its reply; else one that would is told not to. */
  store?: boolean | undefined;
  /** Thinking in the tags `<think>` and `</think>` at the head of an answer stays in its text. */
  keepThink?: boolean | undefined;
  stop?: readonly string[] | undefined;
  seed?: number | undefined;
  /** How many candidates the reply is to have. */
  candidates?: number | undefined;
  /** Media type of the answer. */
  responseMime?: string | undefined;
  /** Width to height of an image, `W:H`. */
  aspect?: string | undefined;
  /** Size of an image: `1K`, `2K`, `4K`, `512` or `WxH`. */
  size?: string | undefined;
  /** How finely an image is drawn, in the service's own word, such as `low` or `high`. */
  quality?: string | undefined;
  /** What is behind the subject of an image: `transparent`, `opaque`. */
  background?: string | undefined;
  /** The type of the image that is wanted, in the service's own word: `png`, `jpeg`, `webp`, `svg`. */
  outputFormat?: string | undefined;
  safety?: readonly { category: string; threshold: string }[] | undefined;
  cachedContent?: string | undefined;
}
