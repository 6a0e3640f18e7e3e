import type { SchemaForm } from '../vendors/schema-forms.ts';
import type { ImagesOperation } from '../vendors/image-types.ts';

export type FormatName = 'content' | 'messages' | 'completions' | 'responses';

/** A row of the table of keys (formats 1): a format; the content format has one row for text and one for images. */
export type AuthUse = 'text' | 'image' | Exclude<FormatName, 'content'>;

/** The differences between a service and others of its format. */
export interface Quirks {
  /** The name of the service: its signatures go back only to it. */
  service: string;
  /** The field that limits the tokens of an answer, if the format has two. */
  maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** The field of the seed, if it is not `seed`. */
  seedField?: 'random_seed' | undefined;
  /** A stream has its usage only if the request asks for it. */
  includeUsage?: boolean | undefined;
  /** The form of an effort, if it differs from other services of the format: in an object, or in fewer words. */
  effort?: 'object' | 'ollama' | undefined;
  /** The service has OpenRouter's tool for a search in the completions format, which has none of its own. */
  search?: true | undefined;
  /** The form of a JSON Schema, if the service does not take all of it. */
  schema?: SchemaForm | undefined;
  /** The service may keep requests and replies without `store: false`. */
  keeps?: boolean | undefined;
  /** Images have an operation of their own, in the words of this service. */
  imagesOperation?: ImagesOperation | undefined;
}
