import type { SessionMessage } from '../../chat/message.ts';
import type { Post } from '../../client/target.ts';
import type { Settings } from '../../settings/settings.ts';
import type { JsonValue } from '../../json.ts';
import type { Attached } from '../input/attachments.ts';
import type { FetchUrl } from '../input/url-input.ts';
import type { Context } from '../context.ts';
import type { Blanks } from '../input/blanks.ts';
import type { SchemaCheck } from '../input/schema.ts';

/** What a request is built with beside its words and flags. */
export interface Building {
  context: Context;
  fetchUrl: FetchUrl;
  settings: Pick<Settings, 'model' | 'noStdin' | 'maxTokens'>;
  /** Replaced where many requests share a schema. */
  compile?: ((schema: JsonValue) => Promise<SchemaCheck>) | undefined;
  /** What to type for a blank without a value, where it is not a flag. */
  adviseBlank?: Blanks['advice'] | undefined;
  /** What was said in a session before. */
  earlier?: readonly SessionMessage[] | undefined;
}

/** A request that is ready to be shown or sent, and what its answer is held against. */
export interface BuiltRequest {
  post: Post;
  model: string;
  prompt: string | undefined;
  /** The `--schema` that the answer must fit. */
  check: SchemaCheck | undefined;
  /** Input pictures. */
  inputs: readonly Attached[];
}

/** Compiles what stands behind `--schema`, if anything does. Throws GatewayError usage. */
export async function schemaCheck(
  schema: JsonValue | undefined,
  { compile }: Building,
): Promise<SchemaCheck | undefined> {
  if (schema === undefined) return undefined;
  return compile ? compile(schema) : (await import('../input/schema.ts')).compileSchema(schema);
}
