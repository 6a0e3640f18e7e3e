import { contentPost, readContent } from '../../client/content.ts';
import { messagesPost, readMessage } from '../../client/messages.ts';
import type { Post } from '../../client/target.ts';
import type { Check } from './types.ts';
import { GatewayError } from '../../errors.ts';
import { createMemoryStore } from '../../images/store.ts';
import type { HttpReply } from '../../transport/types.ts';
import type { Secret } from '../../settings/secret.ts';
import type { SettingsSurvey } from '../../settings/settings.ts';
import type { Context } from '../../cli/context.ts';
import { failedCheck, type Surveyed } from './settings.ts';
import { openConnection, type Connection } from '../../cli/run/connection.ts';
import type { ConnectionFlags } from '../../cli/run/settings.ts';

/** What a live examination needs. */
export interface Live {
  surveyed: Surveyed;
  /** Absent offline, where the local gateway has its own. */
  key: Secret | undefined;
  flags: ConnectionFlags;
  context: Context;
}

type Form = 'api-key' | 'bearer';

interface Tried {
  form: Form;
  check: Check;
}

/**
 * Sends the smallest request of each format; the content format in both forms of authentication, for a gateway may
 * take only one of them (formats 1). Each may be billed.
 */
export async function* examineLive(live: Live): AsyncGenerator<Check> {
  const text = live.surveyed.of('text');
  const chat = live.surveyed.of('chat');
  const connection = await openLive(live, text);
  try {
    const tried: Tried[] = [];
    if (text.model === undefined) yield skipped('content', 'models.text');
    else {
      for (const form of ['api-key', 'bearer'] as const) {
        const use = form === 'bearer' ? 'image' : 'text';
        const post = contentPost(text.model.value, use, contentBody);
        tried.push({ form, check: await tryContent(connection, post, { form, model: text.model.value }) });
      }
      yield* verdicts(tried, live.surveyed);
    }
    if (chat.model === undefined) yield skipped('messages', 'models.chat');
    else yield await tryMessages(connection, chat.model.value);
  } finally {
    await connection.close();
  }
}

/** One connection for the three: use `text` shows the key as an api-key header, `image` as bearer. */
async function openLive({ surveyed, key, flags, context }: Live, text: SettingsSurvey): Promise<Connection> {
  const source = key === undefined ? text.key : ({ kind: 'value', secret: key, from: 'doctor' } as const);
  const settings = { ...text, key: source, model: text.model ?? { value: '', from: 'default' } };
  const messages = surveyed.of('chat').auth.value;
  return openConnection(settings, flags, context, { forms: { text: 'api-key', image: 'bearer', messages } });
}

const contentBody = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }], generationConfig: { maxOutputTokens: 1 } };
const once = { policy: { retries: 0, maxWaitMs: 0, safeOnly: true } };

async function tryContent(
  connection: Connection,
  post: Post,
  { form, model }: { form: Form; model: string },
): Promise<Check> {
  const name = `content, ${form}`;
  const read = (reply: HttpReply) => readContent(reply, { store: createMemoryStore(), model });
  return tryPost(name, async () => (await read((await connection.send(post, once)).reply)).error);
}

async function tryMessages(connection: Connection, model: string): Promise<Check> {
  const post = messagesPost({ model, max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] });
  return tryPost('messages', async () => {
    const deltas = readMessage((await connection.send(post, once)).reply, { store: createMemoryStore(), model });
    for (;;) {
      const next = await deltas.next();
      if (next.done) return next.value.error;
    }
  });
}

async function tryPost(name: string, send: () => Promise<GatewayError | undefined>): Promise<Check> {
  try {
    const error = await send();
    return error ? failedCheck(name, error) : { name, state: 'ok', text: 'accepted' };
  } catch (error) {
    if (error instanceof GatewayError && endings.has(error.class)) throw error;
    return failedCheck(name, error);
  }
}

const endings = new Set(['interrupted', 'terminated', 'hangup', 'closed']);

/** A form that is refused is a failure only where a command would use it, or where both are. */
function* verdicts(tried: readonly Tried[], surveyed: Surveyed): Generator<Check> {
  const works = tried.find(({ check }) => check.state === 'ok')?.form;
  for (const { form, check } of tried) {
    const users = usersOf(form, surveyed);
    if (check.state === 'ok' || works === undefined || check.class !== 'auth') yield check;
    else if (users.length === 0)
      yield { ...check, state: 'skipped', text: `refused, and not used: ${check.text}`, fix: undefined };
    else {
      const fix = users.map((user) => `gateway-cli config set auth.${user} ${works}`).join(' && ');
      yield { ...check, text: `refused, but ${users.join(' and ')} would use it: ${check.text}`, fix };
    }
  }
}

/** Which operations show the key in a form, by the settings: text as api-key and images as bearer unless they say otherwise. */
function usersOf(form: Form, { of }: Surveyed): string[] {
  const own = { text: 'api-key', image: 'bearer' } as const;
  return (['text', 'image'] as const).filter((use) => {
    const { value } = of(use).auth;
    return (value === 'auto' ? own[use] : value) === form;
  });
}

function skipped(name: string, key: string): Check {
  return { name, state: 'skipped', text: 'no model to ask', fix: `gateway-cli config set ${key} <model>` };
}
