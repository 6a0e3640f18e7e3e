import type { JsonObject, JsonValue } from '../json.ts';
import type { Use } from '../services.ts';
import type { Body, Upload } from '../body.ts';
import type { Turn } from './turns.ts';
import type { AskFields } from './types.ts';

/** A picture or a file that goes into the last turn of the user. */
export interface Media {
  mimeType: string;
  /** A string is plain text: a document that is sent as text. */
  data: Upload | string;
  /** What people call it: a file's name. */
  title?: string | undefined;
}

/** What is asked of a model, in the words of no format. An absent field is not sent. */
export interface Ask extends AskFields {
  use: Use;
  model: string;
  /** Undefined: as the body has it. */
  stream: boolean | undefined;
  media?: readonly Media[] | undefined;
  /** A PNG as large as the first picture of `media`; where it is transparent, that may change. */
  mask?: Media | undefined;
  /** Blocks in front of the prompt in its turn: results of tools. */
  results?: readonly JsonObject[] | undefined;
  /** Earlier turns. */
  turns?: readonly Turn[] | undefined;
  /** Earlier turns in the format's own form, sent as they are. */
  ownTurns?: readonly JsonValue[] | undefined;
  /** The JSON Schema that the answer must fit. */
  schema?: JsonValue | undefined;
  /** Tools in the plain form or in the format's own. */
  tools?: readonly JsonValue[] | undefined;
  /** `auto`, `any`, `none`, `tool:<name>`, or an object in the format's own form. */
  toolChoice?: string | JsonObject | undefined;
  /** The service tier that is asked for: half price, slower, refused while the service is busy. */
  tier?: 'flex' | undefined;
  toolConfig?: JsonObject | undefined;
  metadata?: JsonObject | undefined;
  /** A whole body that the fields above are laid over. */
  body?: Body | undefined;
}

/** The request that an ask becomes, below a base URL. */
export interface Encoded {
  /** `/v1/messages` */
  path: string;
  /** Behind the path, without its `?`. */
  query?: string | undefined;
  body: Body;
  /** In place of the body: a file, whose bytes are sent as they are. */
  file?: Upload | undefined;
  /** Headers of this request alone, lower-case names. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** The body is sent as a form: `multipart/form-data`. */
  form?: true | undefined;
  accept?: string | undefined;
  /** A stream of the content format, which a gateway need not have. */
  streamsContent?: true | undefined;
}
