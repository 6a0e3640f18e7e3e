import { guards } from './guard.ts';
import { secretGuard as guard } from './noticed.ts';
import { input } from './secrets-input.ts';

const secrets = 'test/faults/secrets.test.ts';
const canary = 'test/faults/canary.test.ts';
const inFile = 'test/settings/file.test.ts';

const places = 'key in --verbose, dumps, crashes, recordings, recovery files, sessions, User-Agent, URL';

guards('2d', {
  'key on argv': [
    guard(
      'settings/headers.ts',
      ['if (isCredentialName(name))', 'if (false)'],
      secrets,
      "key on argv --header 'x-api-key: KEY'",
    ),
    guard(
      'commands/usage-error.ts',
      ["flag.startsWith('--') ? (flag.split('=')[0] ?? '') : flag.slice(0, 2);", 'flag;'],
      secrets,
      'key on argv --nope=KEY',
    ),
    guard(
      'commands/settings.ts',
      ['if (apiKey === undefined) return;', 'if (true) return;'],
      secrets,
      'key on argv --api-key=KEY',
    ),
    guard(
      'commands/config/write.ts',
      ["if (isSecretKey(key) && word !== '-') {", 'if (false) {'],
      secrets,
      'key on argv config set',
    ),
  ],
  'key with newline': [
    guard(
      'settings/key.ts',
      ['if (position === -1) return', 'if (true) return'],
      secrets,
      'key with newline or bad characters: a line break',
    ),
    guard(
      'settings/key.ts',
      ['const key = text.trim();', 'const key = text;'],
      secrets,
      'key with newline at its end works',
    ),
    guard(
      'transport/auth.ts',
      ['if (code < 0x21 || code > 0x7e) throw', 'if (false) throw'],
      'test/transport/auth.test.ts',
      'key "sk',
    ),
  ],
  'key in --verbose': [
    guard(
      'settings/redact.ts',
      ['hidden.has(name.toLowerCase()) || isCredentialName(name)', 'hidden.has(name.toLowerCase())'],
      canary,
      `${places} credentials that nobody told us of`,
    ),
    guard(
      'commands/session.ts',
      ['context.ui.redactWith(createRedactor(secrets));', ''],
      canary,
      `${places} $CLI text x -v --debug --json --retries 0`,
    ),
    guard(
      'settings/redact.ts',
      ['encodeURIComponent(Buffer.from(value).toString()), ...base64Spellings(value)', '...base64Spellings(value)'],
      canary,
      `${places} $CLI text x -v --debug --json --retries 0`,
    ),
    guard(
      'settings/redact.ts',
      [', ...base64Spellings(value)]', ']'],
      canary,
      `${places} $CLI text x -v --debug --json --retries 0`,
    ),
    guard(
      'cassettes/recording.ts',
      ['mask.hide(encodeLine({', '(encodeLine({'],
      canary,
      `${places} $CLI image gen x --record tape --retries 0`,
    ),
    guard(
      'batch/recorder.ts',
      ['return redact(JSON.stringify(record));', 'return JSON.stringify(record);'],
      canary,
      `${places} echo`,
    ),
    guard(
      'cassettes/masked-chunks.ts',
      ['const hidden = hide(text);', 'const hidden = text;'],
      canary,
      `${places} $CLI image gen x --record tape --retries 0`,
    ),
    guard(
      'commands/config/survey.ts',
      ["value: '(redacted)', from: source.from", 'value: source.secret.reveal(), from: source.from'],
      canary,
      `${places} $CLI config list`,
    ),
    guard('chat/tool-run.ts', ['{ GATEWAY_API_KEY: _, ...env }', 'env'], canary, `${places} echo '[{"name":"show"`),
  ],
  'config mode': [
    guard(
      'settings/file.ts',
      ["open(temporary, 'wx', 0o600)", "open(temporary, 'wx')"],
      inFile,
      'config mode: folder 0700 and file 0600',
    ),
    guard(
      'settings/file.ts',
      ['makeFolder(dirname(target), 0o700)', 'makeFolder(dirname(target))'],
      inFile,
      'config mode: folder 0700 and file 0600',
    ),
    guard(
      'settings/file.ts',
      ['await replaceFile(target, ', "await (await import('node:fs/promises')).writeFile(target, "],
      inFile,
      'config mode: a file that was open to others',
    ),
    guard(
      'settings/file.ts',
      ['const target = await followLinks(path);', 'const target = path;'],
      inFile,
      'config mode: a link whose target is there stays',
    ),
    guard('settings/file.ts', ['(mode & 0o066) === 0', 'true'], secrets, 'config mode: 0644 is warned of'),
  ],
  'project config or .env in cwd': [
    guard(
      'settings/folders.ts',
      ['if (isAbsolute(config)) return', 'if (true) return'],
      secrets,
      'project config or .env in cwd cannot set',
    ),
    guard(
      'settings/key-source.ts',
      ['return resolve(dirname(configPath), path);', 'return resolve(path);'],
      secrets,
      'project config or .env in cwd: a file there',
    ),
  ],
  'key bound to an origin': [
    guard(
      'settings/key-source.ts',
      ['if (!ownsOrigin(picked, baseUrl)) return', 'if (false) return'],
      secrets,
      'key bound to an origin: the key of a profile',
    ),
    guard(
      'settings/resolve.ts',
      ['ownsOrigin(picked, baseUrl) ? picked : undefined', 'picked'],
      secrets,
      'key bound to an origin: the key of a profile',
    ),
    guard(
      'settings/key-source.ts',
      ['return new URL(url).origin;', 'return new URL(url).hostname;'],
      'test/settings/key-origin.test.ts',
      'key bound to an origin: a profile keeps its key and headers another port',
    ),
  ],
  ...input,
});
