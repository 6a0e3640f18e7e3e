import { isObject, type JsonObject, type JsonValue } from '../../json.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { Problem } from '../problem.ts';

/** The state of a thread; a later turn sends only its new messages. */
interface Thread {
  messages: JsonValue[];
  /** System prompt and tools of the first turn. */
  fixed: JsonObject;
  /** Characters of its JSON. */
  size: number;
}

/** Fields that a thread keeps from its first turn. */
const fixedFields = ['system', 'tools'];

/** Characters of all threads together; the least recently used threads are dropped. */
const defaultCapacity = 64 * 2 ** 20;

/** Conversations that callers let the gateway hold, by the id of their last reply. */
export type Threads = ReturnType<typeof createThreads>;

/** Equal requests get replies of equal ids, so that an id can be continued more than once. */
export function createThreads(capacity = defaultCapacity) {
  const held = new Map<string, Thread>();
  let size = 0;
  const forget = (id: string): void => {
    size -= held.get(id)?.size ?? 0;
    held.delete(id);
  };
  const hold = (id: string, thread: Thread): void => {
    forget(id);
    held.set(id, thread);
    size += thread.size;
    for (const oldest of held.keys()) {
      if (size <= capacity) return;
      forget(oldest);
    }
  };
  return {
    /** The whole request of a body that continues a thread; other bodies as they are. Throws Problem 400 or 404. */
    complete(body: JsonObject): JsonObject {
      const continuation = objectAt(body, 'thread');
      const id = textAt(continuation, 'previous_message_id');
      if (textAt(continuation, 'type') !== 'continue' || id === undefined) return body;
      const thread = held.get(id);
      if (!thread) {
        const message = `No thread was found for previous_message_id ${id.slice(0, 100)}.`;
        throw new Problem(404, message, { errorCode: 'thread_not_found' });
      }
      const repeated = fixedFields.find((name) => (body[name] ?? null) !== null);
      if (repeated !== undefined)
        throw new Problem(400, `${repeated}: a continued thread keeps that of its first turn`);
      hold(id, thread);
      return { ...body, ...thread.fixed, messages: [...thread.messages, ...listAt(body, 'messages')] };
    },
    /** Holds a whole request and its reply, if the request asks for it. */
    keep(request: JsonObject, { id, content }: JsonObject): void {
      if (!isObject(request['thread']) || typeof id !== 'string') return;
      if (!Array.isArray(content) || content.length === 0) return;
      const messages = [...listAt(request, 'messages'), { role: 'assistant', content }];
      const fixed = Object.fromEntries(Object.entries(request).filter(([name]) => fixedFields.includes(name)));
      hold(id, { messages, fixed, size: JSON.stringify([messages, fixed]).length });
    },
  };
}
