import { getBuiltinModule } from 'node:process';
import { type Body, type BodyValue, isUpload, type RequestBody, type Upload, withLength } from '../body.ts';

/**
 * Writes a body as a form (RFC 7578): one part for each field, and for each item of a list. Its boundary is the digest of what
 * the parts say, so that equal requests have equal bytes, and none of them can hold it.
 */
export function segmentForm(body: Body): RequestBody {
  const parts = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item) => formPart(name, item)),
  );
  const digest = getBuiltinModule('node:crypto').createHash('sha256');
  for (const { head, content } of parts) digest.update(`${head}${isUpload(content) ? content.bytes : content}\n`);
  const boundary = `gateway-cli-${digest.digest('hex').slice(0, 32)}`;
  const segments: (Uint8Array | Upload)[] = [];
  let text = '';
  for (const { head, content } of parts) {
    text += `--${boundary}\r\n${head}\r\n`;
    if (isUpload(content)) segments.push(Buffer.from(text), content);
    text = isUpload(content) ? '\r\n' : `${text}${content}\r\n`;
  }
  segments.push(Buffer.from(`${text}--${boundary}--\r\n`));
  return { ...withLength(segments), contentType: `multipart/form-data; boundary=${boundary}` };
}

function formPart(name: string, value: BodyValue): { head: string; content: string | Upload } {
  const disposition = `content-disposition: form-data; name="${quoted(name)}"`;
  if (!isUpload(value)) {
    const content = typeof value === 'object' ? JSON.stringify(value) : String(value);
    return { head: `${disposition}\r\n`, content };
  }
  const file = value.file ?? { name: 'file', mimeType: 'application/octet-stream' };
  const head = `${disposition}; filename="${quoted(file.name)}"\r\ncontent-type: ${file.mimeType}\r\n`;
  return { head, content: { ...value, file } };
}

/** As browsers write a name in a form. */
function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
