import { join } from 'node:path';
import { expect, test } from 'vitest';
import { dot, type Row, recordedRun, wholeMessage } from './helpers/recorded-run.ts';

const png = Buffer.from(dot, 'base64');
const pdf = Buffer.from('%PDF-1.4\n%%EOF\n');
const wav = Buffer.concat([Buffer.from('RIFF\x24\0\0\0WAVEfmt '), Buffer.alloc(24)]);
const turns = '[{"role":"user","parts":[{"text":"earlier {{x}}"}]},{"role":"model","parts":[{"text":"Yes"}]}]';
const messages =
  '[{"role":"user","content":"earlier {{x}}"},{"role":"assistant","content":[{"type":"text","text":"Yes"}]}]';
const schema = '{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer"}},"required":["a"]}';
const contentTools = '[{"functionDeclarations":[{"name":"look","parameters":{"type":"object"}}]}]';
const messageTools = '[{"name":"look","description":"Looks","input_schema":{"type":"object"}}]';
const body = '{"contents":[{"role":"user","parts":[{"text":"of the body"}]}],"odd":1e3,"generationConfig":{"topK":3}}';
const messageBody = '{"messages":[{"role":"user","content":"of the body"}],"odd":1.0,"max_tokens":9}';
const promptYaml = `name: slogan
model: of-the-file
modelParameters:
  temperature: 0.5
  maxTokens: 30
  stop: [END]
messages:
  - role: system
    content: Terse.
  - role: user
    content: Earlier
  - role: assistant
    content: Yes
  - role: user
    content: A slogan for {{city}}
testData:
  - city: Rome
  - city: Oslo
`;
const files = {
  'dot.png': png,
  'note.pdf': pdf,
  'hum.wav': wav,
  'prompt.txt': 'from a file, ü\n',
  'turns.json': turns,
  'messages.json': messages,
  'schema.json': schema,
  'content-tools.json': contentTools,
  'tools.json': messageTools,
  'body.json': body,
  'message-body.json': messageBody,
  'slogan.prompt.yml': promptYaml,
  'look.sh': 'cat >/dev/null; echo rain\n',
  'headers.txt': 'X-One: 1\nX-Two: 2\n',
  'tool-config.json': '{"functionCallingConfig":{"mode":"ANY"}}',
  'rows.csv': 'key,city,length\na,Rome,20\nb,"Oslo, ""N""",30\n',
  'rows.jsonl': '{"city":"Rome"}\n{"city":"Oslo"}\n',
  'template.md': 'A slogan for {{city}}\n',
};
const called = wholeMessage({
  content: [
    { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 't1', name: 'look', input: { city: 'Rome', big: 1e21 } },
  ],
  stop_reason: 'tool_use',
});
const gemini = { GATEWAY_BASE_URL: 'SERVER' };
const overloaded = {
  status: 529,
  headers: { 'retry-after': '0' },
  body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
};
const exhausted = {
  status: 429,
  headers: { 'retry-after': '0' },
  body: { error: { code: 429, message: 'slow', status: 'RESOURCE_EXHAUSTED' } },
};
const PATH = '/usr/bin:/bin';

/** A row is a command line, or one with what it needs. */
const tables: Readonly<Record<string, readonly (string | Row)[]>> = {
  text: [
    'text hi',
    'text two words',
    'text -p hi --system "be terse"',
    'text --prompt-file prompt.txt --system-file prompt.txt',
    { line: 'text', stdin: 'from stdin\n' },
    { line: 'text "sum this up"', stdin: 'a long text\r\nof two lines\n' },
    { line: 'text --prompt-file - --var x=stdin', stdin: 'a prompt of {{x}}' },
    'text hi --stream',
    'text hi --stream --jsonl',
    'text hi -m other-model --max-tokens 64 --temperature 0.2 --top-p 0.9 --top-k 40',
    'text hi -m models/other',
    'text hi -m "odd/na me"',
    'text hi --temperature 1.0 --top-p 1e-3 --seed -7',
    'text hi --stop END --stop "a b" --candidates 3',
    'text hi --safety HARASSMENT=BLOCK_NONE --safety HARM_CATEGORY_X=LOW',
    'text hi --response-mime application/json',
    'text hi --schema schema.json',
    'text hi --tools content-tools.json --tool-config tool-config.json',
    'text hi --cached-content cachedContents/1',
    'text hi --contents turns.json --var x=1',
    'text hi --contents turns.json --no-vars',
    'text hi --attach note.pdf --attach dot.png --attach hum.wav',
    'text hi --set generationConfig.presencePenalty=1.50 --set tools[]=x --set a.b=null --set c=text --set n=12345678901234567890',
    'text hi --set generationConfig.temperature=1 --temperature 0',
    'text --body body.json',
    'text hi --body body.json --temperature 1 --set odd=2',
    'text --body body.json --stream',
    'text "to {{a}} {{b}}" --var a=1 --var b=@prompt.txt',
    `text "to {{a}}" --vars '{"a":{"deep":[1,null]}}'`,
    'text "to {{a}}" --no-vars',
    'text --prompt-file slogan.prompt.yml --var city=Bern',
    'text --prompt-file slogan.prompt.yml --var city=Oslo --temperature 1 -m mine',
    'text "é 𝄞 \u2028 \\"q\\""',
    { line: 'text hi', replies: [exhausted] },
    'text hi --raw',
    'text hi --json',
  ],
  image: [
    'image gen "a cat"',
    'image gen "a cat" --aspect 16:9 --size 2K --seed 1 -m painter',
    'image gen "a cat" --temperature 0.5 --candidates 2 --stop END --system neat --max-tokens 9',
    'image gen "a cat" -n 2 --concurrency 1',
    'image gen "a {{what}}" --var what=dog --safety HARASSMENT=BLOCK_NONE --set generationConfig.x=1',
    'image gen --body body.json',
    'image gen --prompt-file slogan.prompt.yml --var city=Bern',
    'image gen hi --contents turns.json --no-vars',
    'image edit gray -i dot.png',
    'image edit gray -i dot.png -i dot.png --aspect 1:1 -n 2 --concurrency 1',
    { line: 'image edit gray -i -', stdin: png },
    'image edit -i dot.png --prompt-file prompt.txt --size 512',
  ],
  chat: [
    'chat hi',
    'chat hi --no-stream',
    'chat hi -m other --max-tokens 64 --temperature 1 --top-p 0.9 --top-k 40',
    'chat hi --system terse --stop END --stop x --metadata user_id=ci --metadata a=b',
    `chat hi --metadata '{"user_id":"ci","n":1}' --no-stream`,
    'chat hi --messages messages.json --var x=1',
    { line: 'chat hi --messages -', stdin: '[{"role":"user","content":"earlier"}]' },
    'chat look -i dot.png --attach note.pdf --no-stream',
    'chat hi --schema schema.json --no-stream',
    'chat hi --tools tools.json --tool-choice auto',
    'chat hi --tools tools.json --tool-choice any',
    'chat hi --tools tools.json --tool-choice none',
    'chat hi --tools tools.json --tool-choice tool:look',
    `chat hi --tools tools.json --tool-choice '{"type":"any","disable_parallel_tool_use":true}'`,
    { line: 'chat hi --tools tools.json --tool-exec "look=sh look.sh" --no-stream', replies: [called], env: { PATH } },
    'chat hi --thinking --set thinking.type=enabled --set thinking.budget_tokens=1024',
    'chat --body message-body.json --no-stream',
    'chat hi --body message-body.json --temperature 0',
    'chat --prompt-file slogan.prompt.yml --var city=Rome',
    { line: 'chat "sum up"', stdin: 'a text\n' },
    { line: 'chat hi --no-stream', replies: [overloaded] },
    {
      line: [
        'chat "my name is Al" --session ./s.json',
        'chat "who am I?" --session ./s.json --system terse',
        'chat again --session ./s.json --no-stream',
      ],
    },
    {
      line: ['chat hi --session ./s.json --no-stream', 'chat next --session ./s.json'],
      replies: [
        wholeMessage({
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'text', text: 'Yes' },
          ],
        }),
      ],
    },
    { line: ['chat look -i dot.png --session ./p.json --no-stream', 'chat "and now?" --session ./p.json --no-stream'] },
    { line: 'chat', typed: ['hello', 'and again', '/system terse', 'third'] },
    { line: 'chat --no-stream -m other --temperature 0', typed: ['hello', 'again'] },
  ],
  connection: [
    'text hi --header "X-Trace: 7" --header @headers.txt',
    'text hi --auth bearer',
    'text hi --auth api-key',
    'image gen hi --auth api-key',
    'chat hi --auth bearer --no-stream',
    'text hi --header-names vendors',
    'chat hi --header-names x-my-key,x-my-version --no-stream',
    'text hi --header-names x-my-key,x-my-version',
    { line: 'text hi', env: { GATEWAY_BASE_URL: 'SERVER/prefix/' } },
    { line: 'chat hi --no-stream', env: { GATEWAY_BASE_URL: 'SERVER/prefix/v1' } },
    { line: 'text hi --service gemini --base-url SERVER', env: gemini },
    { line: 'text hi --service gemini --base-url SERVER --stream', env: gemini },
    { line: 'image gen hi --service gemini --base-url SERVER', env: gemini },
    { line: 'image edit hi -i dot.png --service gemini --base-url SERVER --auth bearer', env: gemini },
    { line: 'chat hi --service anthropic --base-url SERVER', env: gemini },
    { line: 'chat hi --service anthropic --base-url SERVER --no-stream --auth bearer', env: gemini },
    'models',
    'models --service gemini --base-url SERVER',
    'models --service anthropic --base-url SERVER',
    'doctor --live',
    'doctor --live --auth bearer',
    'doctor --live --service gemini --base-url SERVER',
    'doctor --live --service anthropic --base-url SERVER',
  ],
  batch: [
    {
      line: 'batch two.jsonl -o out --concurrency 1',
      files: { 'two.jsonl': jobs({ prompt: 'hi' }, { id: 'b', prompt: 'there', temperature: 0, model: 'other' }) },
    },
    {
      line: 'batch text.jsonl -o out',
      files: {
        'text.jsonl': jobs({
          command: 'text',
          prompt: 'to {{a}}',
          vars: { a: 'Rome' },
          stop: ['END'],
          seed: 1,
          system: 'terse',
          schema: 'schema.json',
          attach: ['note.pdf'],
          safety: ['HARASSMENT=BLOCK_NONE'],
          set: ['x=1'],
        }),
      },
    },
    {
      line: 'batch gen.jsonl -o out',
      files: { 'gen.jsonl': jobs({ command: 'image gen', prompt: 'a cat', aspect: '1:1', size: '1K' }) },
    },
    {
      line: 'batch edit.jsonl -o out',
      files: { 'edit.jsonl': jobs({ command: 'image edit', prompt: 'gray', image: ['dot.png'] }) },
    },
    {
      line: 'batch chat.jsonl -o out',
      files: {
        'chat.jsonl': jobs({
          command: 'chat',
          prompt: 'hi',
          image: ['dot.png'],
          metadata: ['user_id=ci'],
          tools: 'tools.json',
          toolChoice: 'any',
          maxTokens: 9,
        }),
      },
    },
    { line: 'batch --prompts prompt.txt -o out' },
    {
      line: `batch --data rows.csv --template template.md --id-column key --defaults '{"maxTokens":"{{length}}"}' -o out --concurrency 1`,
    },
    { line: `batch --data rows.jsonl --template template.md --defaults '{"command":"chat"}' -o out --concurrency 1` },
    { line: 'batch --template slogan.prompt.yml -o out --concurrency 1' },
    {
      line: 'batch headers.jsonl -o out --auth bearer --header "X-Trace: 7"',
      files: { 'headers.jsonl': jobs({ prompt: 'hi' }) },
    },
  ],
};

function jobs(...rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

for (const [name, rows] of Object.entries(tables)) {
  test(`${name}: requests are byte for byte those of test/fixtures/requests/${name}.txt`, async () => {
    const recorded: string[] = [];
    for (const entry of rows) {
      const row = typeof entry === 'string' ? { line: entry } : entry;
      const { requests } = await recordedRun({ ...row, files: { ...files, ...row.files } });
      recorded.push(requests);
    }
    await expect(recorded.join('')).toMatchFileSnapshot(join(import.meta.dirname, `fixtures/requests/${name}.txt`));
  });
}
