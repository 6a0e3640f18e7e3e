import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallToolResult, ResourceLink } from '@modelcontextprotocol/sdk/types.js';
import { GatewayError } from '../../errors.ts';
import { isObject, type JsonObject, parseObject } from '../../json.ts';
import { shippedFile } from '../../cli/shipped.ts';
import type { RootFolder } from './root-folder.ts';
import { type Tool, type ToolArguments, wordsOf } from './tools.ts';

/** What every call has in common. */
export interface ToolPlace {
  root: RootFolder;
  /** Flags of the server that each command gets. */
  flags: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  /** Files are written nowhere below the root. */
  readOnly: boolean;
}

/**
 * Runs the command of a tool in a process of its own, which the signal ends. A failure of the command is a result that says so.
 */
export async function runTool(
  tool: Tool,
  given: ToolArguments,
  { place, signal }: { place: ToolPlace; signal: AbortSignal },
): Promise<CallToolResult> {
  const { root, readOnly } = place;
  const folder = readOnly ? await mkdtemp(join(tmpdir(), 'gateway-cli-mcp-')) : root.path;
  try {
    const argv = wordsOf(tool, given, ['--json', '--quiet', ...place.flags]);
    const document = await runCommand(argv, { ...place, cwd: folder, prompt: given.prompt ?? '', signal });
    return resultOf(tool, document, folder);
  } finally {
    if (readOnly) await rm(folder, { recursive: true, force: true });
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

interface CommandRun extends ToolPlace {
  cwd: string;
  prompt: string;
  signal: AbortSignal;
}

/** The JSON document of a command. Throws the reason of the signal, and GatewayError internal if it printed none. */
async function runCommand(argv: readonly string[], { cwd, env, prompt, signal }: CommandRun): Promise<JsonObject> {
  const program = fileURLToPath(shippedFile('bin/gateway-cli.js'));
  const { GATEWAY_NO_STDIN: _, ...inherited } = env;
  const child = spawn(execPath, [program, ...argv], { cwd, env: inherited, stdio: 'pipe', windowsHide: true });
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  const out: Buffer[] = [];
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => void out.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => void (err = (err + chunk).slice(-2000)));
  // A command that ends before it reads its prompt closes the pipe.
  child.stdin.on('error', () => undefined).end(prompt);
  if (signal.aborted) stop();
  await new Promise<void>((done, fail) => child.on('error', fail).on('close', () => done()));
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  const document = parseObject(Buffer.concat(out).toString('utf8'));
  if (typeof document['schema'] === 'string') return document;
  throw new GatewayError('internal', `the command printed no document: ${err.trim()}`, { sent: 'unknown' });
}

/** What a client is told: never the bytes of a picture. */
function resultOf(tool: Tool, document: JsonObject, folder: string): CallToolResult {
  const { error } = document;
  const { result, links } = factsOf(tool, document, folder);
  if (isObject(error)) return failedResult(error, result, links);
  const answer = typeof result['text'] === 'string' ? result['text'] : JSON.stringify(result);
  const text = [...pathLines(result['images']), ...(tool.writes && answer === '' ? [] : [answer])].join('\n');
  return { content: [{ type: 'text', text }, ...links], structuredContent: result };
}

/** For models that see the text alone. */
function pathLines(files: unknown): string[] {
  if (!Array.isArray(files)) return [];
  return files.filter(isObject).map(({ path, mimeType, width, height }) => {
    const size = width === undefined ? '' : `, ${String(width)}×${String(height)}`;
    return `${String(path)} (${String(mimeType)}${size})`;
  });
}

/** The keys of the document that a client can use. */
const told = ['text', 'answer', 'complete', 'model', 'models', 'usage', 'cost', 'warnings'];

function factsOf(tool: Tool, document: JsonObject, folder: string): { result: JsonObject; links: ResourceLink[] } {
  const found = [document['images'], document['files']].flatMap((list) => (Array.isArray(list) ? list : []));
  const files = found.filter(isObject).map((file) => ({ ...file, path: resolve(folder, String(file['path'])) }));
  const result = Object.fromEntries(
    told.flatMap((name) => (document[name] === undefined ? [] : [[name, document[name]]])),
  );
  const links = files.map(({ path, ...facts }: JsonObject & { path: string }) => ({
    type: 'resource_link' as const,
    uri: pathToFileURL(path).href,
    name: basename(path),
    mimeType: String(facts['mimeType']),
    size: Number(facts['bytes']),
  }));
  return { result: tool.writes || files.length > 0 ? { ...result, images: files } : result, links };
}

/** A failure with what the caller needs to decide what to do next. */
function failedResult(
  { class: kind, message, hint, sent, billed }: JsonObject,
  partial: JsonObject = {},
  links: readonly ResourceLink[] = [],
): CallToolResult {
  const error = { class: kind, message, hint, sent, billed };
  const text = `${String(kind)}: ${String(message)}${hint === undefined ? '' : `\n${String(hint)}`}\nsent: ${String(sent)}, billed: ${String(billed)}`;
  return { content: [{ type: 'text', text }, ...links], structuredContent: { ...partial, error }, isError: true };
}

/** The same for what is refused here. */
export function refusedResult(error: unknown): CallToolResult {
  if (!(error instanceof GatewayError)) throw error;
  const { class: kind, message, details } = error;
  const { hint, sent = 'no' } = details;
  return failedResult({ class: kind, message, ...(hint !== undefined && { hint }), sent, billed: error.billed });
}
