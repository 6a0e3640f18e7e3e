import { lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { quoteWord } from '../../flags/flag.ts';
import {
  describeReadError,
  describeWriteError,
  fieldEntries,
  type FieldName,
  getErrorCode,
  getFieldFlag,
  type RequestField,
  toSnakeCase,
  usageError,
  type Use,
} from '../../../library/index.ts';

/** A tool of the server, and how its arguments become words of a command. */
export interface McpTool {
  name: string;
  title: string;
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, object>; required?: string[]; additionalProperties: false };
  /** The command that it runs. */
  command: readonly string[];
  /** Whether the tool sends requests that cost money. */
  isBilled: boolean;
  /** Whether the purpose of the tool is to write files. */
  writes: boolean;
}

/** Characters of an argument that becomes a word of a command: Linux takes 128 KiB, and a character is up to four bytes. */
export const longestWord = 30_000;

const textSchema = (description: string): object => ({
  type: 'string',
  minLength: 1,
  description,
  maxLength: longestWord,
});
const path = 'a path below the root folder';
const model = textSchema('name of the model, as list_models gives it; the default model without it');
const output = textSchema(
  `file or folder/ for the image: ${path}; without it, image-1.png and so on in the root folder`,
);

/** Fields of which a tool takes several at once. */
const listNames: { [name in FieldName]?: string } = { image: 'images', attach: 'files' };

/** The fields of a request that tools have, by the names of their arguments. */
const toolFields: ReadonlyMap<string, RequestField> = new Map(
  fieldEntries.flatMap(([name, field]) => {
    const argument = listNames[name] ?? toSnakeCase(name);
    return field.tool === undefined ? [] : [[argument, field]];
  }),
);

function fieldSchemas(use: Use): Record<string, object> {
  const fields = [...toolFields].filter(([, { tool, uses = tool?.uses }]) => uses === undefined || uses.includes(use));
  const schemas = fields.map(([argument, field]) => [argument, toSchema(argument, field)] as const);
  return Object.fromEntries(schemas);
}

function toSchema(argument: string, { kind, values, minimum, maximum, tool }: RequestField): object {
  const description = tool?.text ?? '';
  switch (kind) {
    case 'whole':
      return { type: 'integer', minimum, ...(maximum !== undefined && { maximum }), description };
    case 'number':
      return { type: 'number', description };
    case 'switch':
      return { type: 'boolean', description };
    case 'effort':
      return { type: 'string', enum: values, description };
    case 'ratio':
      return { type: 'string', pattern: '^[\\d.]+:[\\d.]+$', description };
    case 'size':
      return { type: 'string', pattern: '^\\d{1,5}(?:K|x\\d{1,5})?$', description };
    case 'schema':
      return { type: 'object', description };
    case 'inputs':
    case 'paths':
      return { type: 'array', items: textSchema(path), maxItems: 16, description: `${description}: ${path}` };
    default:
      // The prompt is no word of the command.
      return argument === 'prompt' ? { type: 'string', minLength: 1, description } : textSchema(description);
  }
}

const { prompt: instruction, images, ...editFields } = fieldSchemas('edit');

/** The tools, in the order of the list. */
export const tools: readonly McpTool[] = [
  {
    name: 'generate_image',
    title: 'Generate an image',
    description: 'Generates images from a prompt, and writes them to files. Each request is billed.',
    inputSchema: {
      type: 'object',
      properties: {
        ...fieldSchemas('image'),
        output,
        model,
        count: { type: 'integer', minimum: 1, maximum: 16, description: 'number of images, each billed (default: 1)' },
      },
      required: ['prompt'],
      additionalProperties: false,
    },
    command: ['image', 'gen'],
    isBilled: true,
    writes: true,
  },
  {
    name: 'edit_image',
    title: 'Edit images',
    description: 'Changes images as an instruction says, and writes the result to a file. Each request is billed.',
    inputSchema: {
      type: 'object',
      properties: {
        prompt: { ...instruction, description: 'the instruction' },
        images: { ...images, minItems: 1 },
        ...editFields,
        output,
        model,
      },
      required: ['prompt', 'images'],
      additionalProperties: false,
    },
    command: ['image', 'edit'],
    isBilled: true,
    writes: true,
  },
  {
    name: 'ask',
    title: 'Ask a model',
    description: 'Asks another model, with files and with a JSON Schema for the answer. Each request is billed.',
    inputSchema: {
      type: 'object',
      properties: {
        ...fieldSchemas('text'),
        model,
      },
      required: ['prompt'],
      additionalProperties: false,
    },
    command: ['text'],
    isBilled: true,
    writes: false,
  },
  {
    name: 'list_models',
    title: 'List models',
    description: 'Lists the models of the service. Costs nothing.',
    inputSchema: {
      type: 'object',
      properties: { filter: textSchema('a part of the name') },
      additionalProperties: false,
    },
    command: ['models'],
    isBilled: false,
    writes: false,
  },
];

/**
 * The arguments of a call, after the check against the tool's schema: fields of the request, and arguments that need more than a
 * flag.
 */
export interface ToolArguments {
  prompt?: string;
  output?: string;
  model?: string;
  count?: number;
  images?: string[];
  files?: string[];
  schema?: object;
  filter?: string;
  [field: string]: unknown;
}

type FlagWord = string | number | true | readonly string[];

/** Flags as words: `true` needs no value, and each item of a list has a word of its own. */
export function flagWords(flags: Readonly<Record<string, FlagWord | undefined>>): string[] {
  return Object.entries(flags).flatMap(([name, value = []]) =>
    [value].flat().map((each) => (each === true ? `--${name}` : `--${name}=${each}`)),
  );
}

/** The words of the command, with these flags. The prompt goes to stdin: it can be longer than a word may be, and has no template variables to fill. */
export function toCommandWords({ command }: McpTool, given: ToolArguments, flags: readonly string[]): string[] {
  const { prompt, model, output, count, filter, ...fields } = given;
  const words = Object.entries(fields).flatMap(([argument, value]) => fieldWords(toolFields.get(argument), value));
  return [
    ...command,
    ...(prompt === undefined ? [] : ['--prompt-file=-', '--no-vars']),
    ...flagWords({ model, output, count }),
    ...words,
    ...flags,
    ...(filter === undefined ? [] : ['--', filter]),
  ];
}

function fieldWords(field: RequestField | undefined, value: unknown): string[] {
  if (field === undefined || value === undefined || value === false) return [];
  const name = getFieldFlag(field).slice(2);
  if (field.kind === 'schema') return flagWords({ [name]: JSON.stringify(value) });
  return flagWords({ [name]: value as FlagWord });
}

/** The folder that the tools may read and write. */
export interface RootFolder {
  /** Without symbolic links. */
  readonly path: string;
  /** The absolute path of an existing file. Throws GatewayError usage if it is outside, also by a symbolic link. */
  input(path: string): Promise<string>;
  /**
   * The path of a new file, or of a folder/, from the root on; the folder above it is made. Throws GatewayError usage if it is
   * outside, also by a symbolic link.
   */
  output(path: string): Promise<string>;
}

const url = /^(?:data:|[a-z][a-z\d+.-]+:\/\/)/i;

/** Opens the folder. Throws GatewayError usage if it is missing. */
export async function openRoot(folder: string): Promise<RootFolder> {
  const root = await realpath(folder).catch((error: unknown) => {
    throw usageError(`--root: there is no folder ${quoteWord(folder)}`, 'for example: --root .', error);
  });
  const real = async (typed: string): Promise<string> => {
    if (url.test(typed))
      throw usageError(
        `${quoteWord(typed)} is a URL: URLs are not taken`,
        'use the path of a file below the root folder',
      );
    const path = await realNearest(resolve(root, typed));
    const way = relative(root, path);
    if (way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === path) return path;
    throw usageError(`${quoteWord(typed)} is outside the root folder`, 'use a path below the root folder');
  };
  return {
    path: root,
    async input(typed) {
      const path = await real(typed);
      const found = await stat(path).catch((error: unknown) => {
        if (getErrorCode(error) === 'ENOENT')
          throw usageError(`there is no file ${quoteWord(typed)} below the root folder`, 'check its name', error);
      });
      if (!found || found.isFile() || found.isDirectory()) return path;
      throw usageError(`${quoteWord(typed)} is a device, a pipe or a socket`, 'name a file');
    },
    async output(typed) {
      const path = await real(typed);
      // The path starts from the root: braces in the root's own path are no template.
      const way = `.${sep}${relative(root, path)}`;
      // In a template, values of the model would be parts of the path.
      if (/[{}]/.test(way))
        throw usageError(`${quoteWord(typed)} has a brace`, 'use a plain path below the root folder');
      const found = await stat(path).catch(() => undefined);
      if (found?.isFile()) throw usageError(`${quoteWord(typed)} already exists`, 'choose another name');
      if (!found) await makeToolFolder(dirname(path), typed);
      return /[/\\]$/.test(typed) ? join(way, sep) : way;
    },
  };
}

/** Makes the folder, since an MCP client has no shell to make it in. Throws GatewayError usage. */
async function makeToolFolder(folder: string, typed: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw usageError(
      `the folder of ${quoteWord(typed)} cannot be made: ${describeWriteError(error)}`,
      'choose another path',
      error,
    );
  });
}

/** The path without symbolic links; the part that does not exist yet stays as it is. Throws GatewayError usage. */
async function realNearest(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    const isLink = (await lstat(path).catch(() => undefined)) !== undefined;
    if (getErrorCode(error) !== 'ENOENT' || isLink)
      throw usageError(`${quoteWord(path)} cannot be used: ${describeReadError(error)}`);
    return join(await realNearest(dirname(path)), basename(path));
  }
}

/** The arguments with the paths that the command gets. Throws GatewayError usage for a path outside the root. */
export async function withPaths(given: ToolArguments, root: RootFolder): Promise<ToolArguments> {
  const { images, files, output } = given;
  return {
    ...given,
    ...(images && { images: await Promise.all(images.map(root.input)) }),
    ...(files && { files: await Promise.all(files.map(root.input)) }),
    ...(output !== undefined && { output: await root.output(output) }),
  };
}
