import type { PlainRequest } from '../../../../src/library/formats/plain-request.ts';
import { content } from '../../../../src/library/formats/content/format.ts';
import type { Body } from '../../../../src/library/body.ts';

/** What is asked beside the model. */
export type Asked = Omit<PlainRequest, 'use' | 'model' | 'stream'>;
/** The service that the requests go to. */
export const quirks = { service: 'own/content' };
/** The body of a request. */
export const encode = (asked: Asked): Body =>
  content.encode({ use: 'text', model: 'm', stream: undefined, ...asked }, quirks).body;

/** The turn of a prompt. */
export const prompt = { role: 'user', parts: [{ text: 'Hi' }] };
