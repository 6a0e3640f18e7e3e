import { writeFileSync } from 'node:fs';
import OpenAI, { toFile } from 'openai';

const client = new OpenAI();
const question = (content, more = {}) => ({ model: 'gpt-6-luna', messages: [{ role: 'user', content }], ...more });

const reply = await client.chat.completions.create(question('Why is the sky blue?'));
process.stdout.write(`text: ${reply.choices[0].message.content}\n`);

process.stdout.write('stream: ');
const stream = await client.chat.completions.create(question('Tell me a story', { stream: true }));
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '');

const drawn = await client.images.generate({
  model: 'gpt-image-2.6-flare',
  prompt: 'A lighthouse at dusk',
  size: '1024x1024',
});
const picture = Buffer.from(drawn.data[0].b64_json, 'base64');
const image = await toFile(picture, 'picture.png', { type: 'image/png' });
const edited = await client.images.edit({
  model: 'gpt-image-2.6-flare',
  image,
  prompt: 'Make it night',
  size: '1024x1024',
});
writeFileSync('picture.png', Buffer.from(edited.data[0].b64_json, 'base64'));

const models = [];
for await (const { id } of client.models.list()) models.push(id);
process.stdout.write(`\nmodels: ${models.join(' ')}\n`);
