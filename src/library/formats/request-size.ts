import { type Body, isUpload } from '../body.ts';
import { isObject } from '../json.ts';

/** The length of a request, as far as it can be seen. */
export interface RequestSize {
  /** Bytes of its JSON, without files. */
  bytes: number;
  /** The request has files, or names some: their tokens do not depend on their bytes. */
  hasFiles: boolean;
  /** The request has tools that run at the service, or a text that is kept there: the service bills more than was sent. */
  readsMore: boolean;
}

/** Keys of the formats whose strings are a file, or name one. */
const fileKeys = new Set('data file_data file_id file_uri file_url fileUri image_url url'.split(' '));

/** Fields whose contents are kept at the service. */
const fieldsOfService = [
  'cachedContent',
  'cached_content',
  'container',
  'conversation',
  'mcp_servers',
  'plugins',
  'previous_response_id',
  'search_parameters',
  'thread',
  'web_search_options',
] as const;

/** Measures the body of a request, in any format. */
export function measureRequest(body: Body): RequestSize {
  let hasFiles = false;
  const text = JSON.stringify(body, (key, value: unknown) => {
    const isFile = isUpload(value);
    hasFiles ||= isFile || (typeof value === 'string' && fileKeys.has(key));
    return isFile ? '' : value;
  });
  const isAtService = fieldsOfService.some((field) => body[field] !== undefined && body[field] !== null);
  const readsMore = isAtService || [body['tools'] ?? []].flat().some(runsAtService);
  return { bytes: Buffer.byteLength(text), hasFiles, readsMore };
}

/** Whether a tool runs at the service. A caller runs functions, which have no type of their own in some formats. */
function runsAtService(tool: unknown): boolean {
  if (!isObject(tool)) return false;
  if (typeof tool['type'] === 'string') return tool['type'] !== 'function' && tool['type'] !== 'custom';
  return typeof tool['name'] !== 'string' && Object.keys(tool).some((key) => !functionKeys.has(key));
}

const functionKeys = new Set(['function', 'functionDeclarations', 'function_declarations']);
