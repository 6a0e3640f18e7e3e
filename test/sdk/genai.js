// Drives @google/genai against the gateway of the environment; prints what it got as JSON.
import { FunctionCallingConfigMode, GoogleGenAI } from '@google/genai';

const { SDK_BASE_URL: baseUrl, SDK_API_KEY: apiKey, SDK_PNG: png } = process.env;
const { models } = new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
const model = 'local-text';

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ functionDeclarations: [{ name: 'get_weather', parametersJsonSchema: city }] }];
const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } };

async function failure(act) {
  try {
    await act();
    return 'no error';
  } catch (error) {
    return { name: error.name, status: error.status };
  }
}

function pictures(reply) {
  return reply.candidates.flatMap(({ content }) =>
    content.parts.flatMap(({ inlineData }) =>
      inlineData ? [{ mimeType: inlineData.mimeType, start: inlineData.data.slice(0, 12) }] : [],
    ),
  );
}

async function readStream() {
  const chunks = [];
  for await (const chunk of await models.generateContentStream({ model, contents: 'a long tale' })) chunks.push(chunk);
  return {
    chunks: chunks.length,
    text: chunks.map((chunk) => chunk.text ?? '').join(''),
    finish: chunks.at(-1).candidates[0].finishReason,
    usage: chunks.at(-1).usageMetadata,
  };
}

const text = await models.generateContent({ model, contents: 'hello', config: { systemInstruction: 'be brief' } });
const tool = await models.generateContent({ model, contents: 'weather in Oslo?', config: { tools, toolConfig } });
const schema = await models.generateContent({
  model,
  contents: 'a city',
  config: { responseMimeType: 'application/json', responseJsonSchema: city },
});
const drawn = await models.generateContent({
  model: 'local-image',
  contents: 'a lighthouse',
  config: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
});
const edited = await models.generateContent({
  model: 'local-edit',
  contents: [{ role: 'user', parts: [{ text: 'invert' }, { inlineData: { mimeType: 'image/png', data: png } }] }],
});
const wrongKey = new GoogleGenAI({ apiKey: 'not-the-key', httpOptions: { baseUrl } });

const listed = [];
for await (const { name } of await models.list()) listed.push(name);

const results = {
  listed,
  one: (await models.get({ model: 'local-image' })).name,
  counted: (await models.countTokens({ model, contents: 'hello' })).totalTokens,
  foreign: (await models.generateContent({ model: 'gemini-2.5-flash', contents: 'hello' })).modelVersion,
  text: { text: text.text, finish: text.candidates[0].finishReason, usage: text.usageMetadata },
  stream: await readStream(),
  tool: tool.functionCalls,
  schema: JSON.parse(schema.text),
  drawn: pictures(drawn),
  edited: pictures(edited),
  errors: {
    key: await failure(() => wrongKey.models.generateContent({ model, contents: 'hello' })),
    model: await failure(() => models.generateContent({ model: 'no-such-model', contents: 'hello' })),
    limit: await failure(() => models.generateContent({ model: 'fault-429', contents: 'hello' })),
    field: await failure(() =>
      models.generateContent({ model, contents: 'x', config: { imageConfig: { aspectRatio: 'wide' } } }),
    ),
    server: await failure(() => models.generateContent({ model: 'fault-500', contents: 'hello' })),
  },
};
process.stdout.write(JSON.stringify(results));
