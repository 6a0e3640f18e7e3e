// Compiled against the built types by test/types/types.test.ts, without the types of DOM and with and without those of Node.
import { type ContentBlock, createClient, type Message, type Reply, type Signal, type StopReason } from 'gateway-cli';

/** Interfaces as a user has them: without an index signature. */
interface MyText {
  type: 'text';
  text: string;
}
interface MyNote {
  type: 'note';
  author: { name: string };
}
interface MyMessage {
  role: 'user' | 'assistant';
  content: string | MyText[];
}
interface MyTool {
  name: string;
  description: string;
  input_schema: MySchema;
}
interface MySchema {
  type: 'object';
  properties: Record<string, { type: string }>;
}
interface MyTurn {
  role: string;
  parts: { text: string }[];
}
interface MyChoice {
  type: 'tool';
  name: string;
}

const client = createClient({ baseUrl: 'https://gateway.example.com', apiKey: 'key' });

export async function ask(
  history: readonly MyMessage[],
  tools: MyTool[],
  toolChoice: MyChoice,
  schema: MySchema,
): Promise<StopReason | undefined> {
  const reply = await client.generate(
    {
      model: 'm',
      maxTokens: 5,
      turns: history,
      tools,
      toolChoice,
      schema,
      metadata: { user_id: 'u' },
    },
    { format: 'messages' },
  );
  if (reply.stopReason === 'tool_use' || reply.stopReason === 'of-next-year') return reply.stopReason;
  return next(reply, history);
}

async function next(reply: Reply, history: readonly MyMessage[]): Promise<StopReason | undefined> {
  const note: MyNote = { type: 'note', author: { name: 'a' } };
  const blocks: ContentBlock[] = [
    note,
    { type: 'text', text: 'hi' },
    { type: 'tool_result', tool_use_id: 't', content: 'x' },
  ];
  const turns: Message[] = [
    ...history,
    { role: 'assistant', content: reply.content ?? [] },
    { role: 'user', content: blocks },
  ];
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 5 };
  for await (const delta of client.stream({ model: 'm', maxTokens: 5, turns, tools: [search] }, { format: 'messages' }))
    if (delta.type === 'stop') return delta.stopReason;
  return undefined;
}

export async function content(contents: MyTurn[], schema: MySchema, signal: Signal): Promise<string> {
  const tools = [{ functionDeclarations: [{ name: 'f', parameters: schema }] }];
  const reply = await client.generate({ model: 'm', body: { contents }, tools, schema }, { signal });
  return reply.text;
}

// @ts-expect-error a message has a role
void client.generate({ model: 'm', maxTokens: 1, turns: [{ content: 'hi' }] }, { format: 'messages' });
// @ts-expect-error a message is an object
void client.generate({ model: 'm', maxTokens: 1, turns: ['hi'] }, { format: 'messages' });
// @ts-expect-error a block has a type
export const untyped: ContentBlock = new (class Untyped {
  text = 'hi';
})();
