import { PassThrough, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type Tool as ListedTool,
} from '@modelcontextprotocol/sdk/types.js';
import pLimit from 'p-limit';
import { defaultMaxTurns, type JsonValue, untilAborted, usageError, version } from '../../../library/index.ts';
import type { Context } from '../../context.ts';
import { findFaults } from '../../input/schema.ts';
import type { Output } from '../../terminal/io.ts';
import { refusedResult, runTool, type ToolPlace } from './run-tool.ts';
import { longestWord, type McpTool, type ToolArguments, tools, withPaths, toCommandWords } from './tools.ts';

/** The place and the limits of the server. */
export interface ServerOptions extends ToolPlace {
  /** The most requests that cost money. */
  maxRequests: number | undefined;
}

/** The most calls that run at a time, each in a process of its own; the others wait for their turn. */
const mostAtOnce = 4;

/** The interval of progress messages: many clients give up after 60 s without one. */
const progressMs = 10_000;

/** Serves the tools on stdin and stdout until stdin ends and all calls are answered, or the signal aborts. */
export async function serveTools(options: ServerOptions, { io, signal }: Context): Promise<void> {
  // The thread of the schema check starts now: the current folder may be gone when a call comes.
  await findFaults({}, {});
  const server = new Server(
    { name: 'gateway-cli', version },
    { capabilities: { tools: {} }, instructions: 'Images are written to files; results name their paths.' },
  );
  const offered = tools.filter((tool) => !(options.readOnly && tool.writes));
  const call = caller(options);
  const inTurn = pLimit(mostAtOnce);
  const stopped = new AbortController();
  const running = new Set<Promise<unknown>>();
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: offered.map(toListedTool) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = offered.find(({ name }) => name === params.name);
    // The error is not an McpError, whose message has the code in it, which the client adds again.
    if (tool === undefined)
      throw Object.assign(new Error(`unknown tool: ${params.name}`), { code: ErrorCode.InvalidParams });
    const stop = AbortSignal.any([extra.signal, stopped.signal]);
    const result = inTurn(async () => {
      stop.throwIfAborted();
      return call(tool, params.arguments ?? {}, stop);
    });
    running.add(result);
    void result.catch(() => undefined).finally(() => running.delete(result));
    const { _meta: meta } = extra;
    const token = meta?.progressToken;
    if (token === undefined) return result;
    let progress = 0;
    const timer = setInterval(() => {
      progress += progressMs / 1000;
      const message = `waiting for the gateway, ${progress} s`;
      void extra
        .sendNotification({ method: 'notifications/progress', params: { progressToken: token, progress, message } })
        .catch(() => undefined);
    }, progressMs);
    return result.finally(() => clearInterval(timer));
  });
  const input = Readable.from(io.stdin.read(), { objectMode: false });
  const output = new PassThrough();
  const written = writeAll(output, io.stdout);
  const cut = new AbortController();
  const onclose = (): void =>
    cut.abort(usageError('the client sent a message of more than 10 MiB', 'name files by their paths'));
  Object.assign(server, { onclose });
  await server.connect(new StdioServerTransport(input, output));
  const gone = Promise.race([
    untilAborted(new Promise<never>(() => {}), AbortSignal.any([signal, cut.signal])),
    written,
  ]);
  const answered = new Promise((done) => input.once('end', done).once('close', done))
    // A call begins, and the SDK sends its answer, some ticks later. Calls that may be paid for get their answer.
    .then(() => setImmediate())
    .then(() => Promise.allSettled(running))
    .then(() => setImmediate());
  await Promise.race([gone, answered]).catch(() => undefined);
  const { reason, aborted } = cut.signal;
  stopped.abort(new Error('the server ends'));
  await server.close();
  output.end();
  await written;
  signal.throwIfAborted();
  if (aborted) throw reason;
}

/** Throws GatewayError if stdout cannot be written any more. */
async function writeAll(chunks: AsyncIterable<Buffer>, stdout: Output): Promise<void> {
  for await (const chunk of chunks) {
    await stdout.write(chunk);
    if (stdout.failure !== undefined) throw stdout.failure;
  }
}

function toListedTool({ name, title, description, inputSchema, writes }: McpTool): ListedTool {
  const annotations = { readOnlyHint: !writes, destructiveHint: false, idempotentHint: false, openWorldHint: true };
  return { name, title, description, inputSchema, annotations };
}

/** Checks and makes calls, within the limit of requests. */
function caller(
  options: ServerOptions,
): (tool: McpTool, given: object, signal: AbortSignal) => Promise<CallToolResult> {
  const { maxRequests } = options;
  let sent = 0;
  return async (tool, given, signal) => {
    try {
      const typed = await checkArguments(tool, given);
      if (toCommandWords(tool, typed, []).some((word) => word.includes('\0')))
        throw usageError('an argument has a NUL character');
      const placed = await withPaths(typed, options.root);
      if (!tool.isBilled || maxRequests === undefined) return await runTool(tool, placed, { place: options, signal });
      const { count = 1 } = typed;
      if (sent + count > maxRequests)
        throw usageError(
          `this server has sent its ${maxRequests} requests, or keeps them for calls that run`,
          'start it again with a greater --max-requests',
        );
      // An answer in which the service pauses takes several.
      const turns = Math.min(defaultMaxTurns, Math.floor((maxRequests - sent) / count));
      const limits = ['--retries=0', `--max-turns=${turns}`];
      sent += count * turns;
      const onEnd = (attempts: number): void => void (sent += attempts - count * turns);
      return await runTool(tool, placed, {
        place: { ...options, flags: [...options.flags, ...limits] },
        signal,
        onEnd,
      });
    } catch (error) {
      return refusedResult(error);
    }
  };
}

/** Throws GatewayError usage for arguments that do not fit the tool's schema. */
async function checkArguments(tool: McpTool, given: object): Promise<ToolArguments> {
  const typed = JSON.parse(JSON.stringify(withTexts(tool, given))) as ToolArguments & JsonValue;
  const faults = await findFaults(tool.inputSchema, typed);
  if (faults.length > 0)
    throw usageError(
      `the arguments of ${tool.name} do not fit: ${faults.join('; ')}`,
      'list the tools for their schemas',
    );
  if (typed.schema === undefined || JSON.stringify(typed.schema).length <= longestWord) return typed;
  throw usageError(`the schema has more than ${longestWord} characters`, 'leave out its descriptions');
}

/** Models and clients write the text 512 as a number. */
function withTexts({ inputSchema: { properties } }: McpTool, given: object): object {
  const entries = Object.entries(given).map(([name, value]: [string, unknown]) => {
    const { type } = (properties[name] ?? {}) as { type?: string };
    return [name, type === 'string' && typeof value === 'number' ? String(value) : value];
  });
  return Object.fromEntries(entries) as object;
}
