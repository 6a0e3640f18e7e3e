import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { vi } from 'vitest';
import { splitShellLine } from '../../src/library/shell-word.ts';
import { version } from '../../src/library/version.ts';
import { person } from '../cli/commands/chat/person.ts';
import type { ReceivedRequest } from './request-reader.ts';
import { run, type RunOptions } from './run.ts';
import { scratchFolder } from './scratch.ts';
import { type ScriptedReply, startScriptedServer } from './scripted-server.ts';
import { canaryKey, eventStream, imageReply, messageEvents, textReply } from './with-server.ts';

/** A picture of one pixel, as Base64. */
export const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** One command line, and what it needs. */
export interface Row {
  /** What is special about it, if the line does not show it. */
  about?: string;
  /** Words as a shell reads them, without the program's name. A list is run in order, in one folder. */
  line: string | readonly string[];
  /** Replies to the first requests; after them the standard replies of `answer` follow. */
  replies?: readonly (ScriptedReply | string | object)[];
  /** Written into the folder first. */
  files?: Readonly<Record<string, string | Uint8Array>>;
  /** Text that the folder's name and the server's address are put into: `HOST` and `CWD`. */
  env?: Record<string, string>;
  stdin?: string | Uint8Array;
  /** What a person types into a conversation. */
  typed?: readonly string[];
}

/** A run as text: what it sent, and what came out. Volatile values have names. */
export interface RecordedRun {
  requests: string;
  output: string;
}

/** Runs a row against a server of its own. */
export async function recordedRun({
  about,
  line,
  replies = [],
  files = {},
  env = {},
  stdin,
  typed,
}: Row): Promise<RecordedRun> {
  const server = await startScriptedServer();
  const cwd = scratchFolder();
  const local = (text: string) => text.replaceAll('SERVER', server.url).replaceAll('CWD', cwd);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), typeof content === 'string' ? local(content) : content);
  }
  for (const reply of replies) server.reply(toReply(reply));
  server.always(answer);
  const bare = {
    GATEWAY_BASE_URL: server.url,
    GATEWAY_API_KEY: canaryKey,
    GATEWAY_MODEL: 'm',
    GATEWAY_IMAGE_MODEL: 'draw',
  };
  // The program asks the process itself for the user's folders.
  for (const name of ['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME']) vi.stubEnv(name, join(cwd, 'home'));
  const options: RunOptions = { cwd, ...(stdin !== undefined && { stdin }), ...typing(typed) };
  const set = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, local(value)]));
  const lines = typeof line === 'string' ? [line] : line;
  const printed: string[] = [];
  try {
    for (const each of lines) {
      const { code, stdoutBytes, stderr } = await run(splitShellLine(local(each)).words, {
        ...options,
        env: { ...options.env, ...bare, ...set },
      });
      printed.push(
        `$ ${each}\nexit code ${code}\n${section('stdout', stdoutBytes)}${section('stderr', Buffer.from(stderr))}`,
      );
    }
  } finally {
    await server.close();
  }
  const plain = (text: string) => named(text, { cwd, port: server.port });
  const requests = server.requests.map(requestText).join('');
  const written = filesIn(cwd).filter((name) => !(name in files));
  return {
    requests: plain(`${lines.map((each) => `$ ${each}\n`).join('')}${requests}\n`),
    output: plain(
      `${about === undefined ? '' : `# ${about}\n`}${printed.join('')}${written.map((name) => section(name, contentOf(join(cwd, name)))).join('')}\n`,
    ),
  };
}

function typing(typed: readonly string[] | undefined): RunOptions {
  return typed === undefined ? {} : person(typed).options;
}

/** A reply, or its body alone. */
export function toReply(reply: ScriptedReply | string | object): ScriptedReply {
  const isReply =
    typeof reply === 'object' && ['status', 'body', 'chunks', 'raw', 'headers'].some((key) => key in reply);
  return isReply ? (reply as ScriptedReply) : { body: reply };
}

/** An ordinary reply to whatever was asked. */
function answer({ path, method, body }: ReceivedRequest): ScriptedReply {
  if (method === 'GET') return { body: path.startsWith('/v1beta') ? contentModels : messageModels };
  if (path.includes(':streamGenerateContent')) return stream(`data: ${JSON.stringify(textReply('Hello'))}\n\n`);
  if (path.includes('/draw:')) return { body: imageReply({ mimeType: 'image/png', data: dot }) };
  if (path.includes(':')) return { body: textReply('Hello') };
  const isStreamed = body.includes('"stream":true');
  return isStreamed ? stream(eventStream(...messageEvents('Hel', 'lo'))) : { body: wholeMessage() };
}

/** A reply of server-sent events. */
export function stream(body: string): ScriptedReply {
  return { headers: { 'content-type': 'text/event-stream' }, body };
}

/** A reply of the messages format. */
export function wholeMessage(more: object = {}): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm-001',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 4, output_tokens: 2 },
    ...more,
  };
}

const contentModels = { models: [{ name: 'models/m', supportedGenerationMethods: ['generateContent'] }] };
const messageModels = { data: [{ type: 'model', id: 'm', display_name: 'M' }], has_more: false };

function requestText({ method, path, rawHeaders, body }: ReceivedRequest): string {
  const head = [`${method} ${path}`, ...rawHeaders.map(([name, value]) => `${name}: ${value}`)].join('\n');
  const sum =
    body.length === 0 ? '' : `\n[${body.length} bytes, sha256 ${digest(body)}]\n${shortened(body.toString())}\n`;
  return `\n${head}\n${sum}`;
}

function section(name: string, bytes: Buffer): string {
  if (bytes.length === 0) return `--- ${name}: empty\n`;
  const text = bytes.toString();
  if (!Buffer.from(text).equals(bytes)) return `--- ${name}: ${bytes.length} bytes, sha256 ${digest(bytes)}\n`;
  return `--- ${name}\n${shortened(text)}${text.endsWith('\n') ? '' : '[no newline]\n'}`;
}

/** The digest before it replaces the bytes. */
function shortened(text: string): string {
  return text.replaceAll(/[\w+/]{60,}={0,2}/g, (run) =>
    /^[\da-f]{64}$/.test(run) ? run : `[${run.length} characters, sha256 ${digest(run).slice(0, 16)}]`,
  );
}

function digest(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}

function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** The entries of a journal are sorted: which of two waits for the disk ends first is chance. */
function contentOf(path: string): Buffer {
  const bytes = readFileSync(path);
  if (!/(?:jobs|journal|results)\.jsonl$/.test(path)) return bytes;
  const text = nameSlots(bytes.toString(), join(dirname(path), 'jobs.jsonl'));
  if (!path.endsWith('journal.jsonl')) return Buffer.from(text);
  return Buffer.from(text.trimEnd().split('\n').toSorted().join('\n') + '\n');
}

/** The keys of a batch have the address of its server: each is named by the id of its row. */
function nameSlots(text: string, manifest: string): string {
  const rows = existsSync(manifest) ? readFileSync(manifest, 'utf8') : '';
  let named = text;
  for (const [, slot = '', id = ''] of rows.matchAll(/^\{"slot":"([^"]*)","id":"([^"]*)"/gm))
    named = named.replaceAll(`"${slot}"`, `"SLOT OF ${id}"`);
  return named
    .replaceAll(/"off":\d+,"len":\d+/g, '"off":BYTES,"len":BYTES')
    .replaceAll(/"from":"[\da-f]{32}"/g, '"from":"DIGEST"')
    .replaceAll(/"address":"[\da-f]{8}"/g, '"address":"DIGEST"');
}

/** Gives names to what differs from one run to the next. */
function named(text: string, { cwd, port }: { cwd: string; port: number }): string {
  return text
    .replaceAll(cwd, 'CWD')
    .replaceAll(`127.0.0.1:${port}`, 'HOST')
    .replaceAll(canaryKey, 'KEY')
    .replaceAll(`gateway-cli/${version}`, 'gateway-cli/VERSION')
    .replaceAll(`gateway-cli ${version}`, 'gateway-cli VERSION')
    .replaceAll(process.version, 'NODE')
    .replaceAll(process.version.slice(1), 'NODE')
    .replaceAll(`${process.platform} ${process.arch}`, 'PLATFORM')
    .replaceAll(/"boot":"[^"]*",?/g, '')
    .replaceAll(/"results":[1-9]\d*/g, '"results":BYTES')
    .replaceAll(/"at":\d+/g, '"at":TIME')
    .replaceAll(/gateway-cli-\d{8}T\d{6}-[\da-f]{8}/g, 'gateway-cli-TIME-RANDOM')
    .replaceAll(/models\/[\da-f]{16}\.json/g, 'models/HASH.json')
    .replaceAll(/\d{4}-\d\d-\d\d-\d{4}/g, 'DATE')
    .replaceAll(/\btime="[\d.]+"/g, 'time="SECONDS"')
    .replaceAll(/^(\| .* \| \d+ \|) \d+ \|$/gm, '$1 MS |')
    .replaceAll(/\(\d+ ms\)/g, '(MS ms)')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?/g, 'TIME')
    .replaceAll(/("\w*Ms": ?)[\d.]+/g, '$1MS');
}
