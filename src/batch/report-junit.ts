import { isoTime } from '../clock.ts';
import type { ReportFacts, ReportWriter } from './report-types.ts';
import type { Row } from './row.ts';

/** JUnit's XML, as the test views of GitHub and GitLab read it: failed jobs fail, unknown ones are errors, pending ones skipped. */
export function junitReport({ name, counts, durationMs, beganAt }: ReportFacts): ReportWriter {
  const { done, failed, unknown, pending } = counts;
  const sums = attributes({
    tests: done + failed + unknown + pending,
    failures: failed,
    errors: unknown,
    time: seconds(durationMs),
  });
  const timestamp = beganAt === undefined ? undefined : isoTime(beganAt)?.slice(0, 19);
  return {
    head: [
      '<?xml version="1.0" encoding="UTF-8"?>',
      `<testsuites${attributes({ name: 'gateway-cli batch' })}${sums}>`,
      `  <testsuite${attributes({ name })}${sums}${attributes({ skipped: pending, timestamp })}>`,
      '',
    ].join('\n'),
    row: testCase,
    foot: () => '  </testsuite>\n</testsuites>\n',
  };
}

function testCase(row: Row): string {
  const { id, command = 'job', durationMs = 0 } = row;
  const head = `    <testcase${attributes({ name: id, classname: command, time: seconds(durationMs) })}`;
  const outcome = outcomeOf(row);
  return outcome === '' ? `${head}/>\n` : `${head}>\n      ${outcome}\n    </testcase>\n`;
}

function outcomeOf({
  state,
  complete,
  stopReason,
  error: { class: type, message } = { class: 'unknown', message: 'no error is known' },
}: Row): string {
  if (state === 'done')
    return complete === false
      ? `<system-err>${escapeXml(`incomplete: ${stopReason ?? 'no reason'}`)}</system-err>`
      : '';
  if (state === 'pending') return '<skipped message="not sent yet"/>';
  const tag = state === 'failed' ? 'failure' : 'error';
  return `<${tag}${attributes({ type, message })}>${escapeXml(message)}</${tag}>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

function attributes(values: Readonly<Record<string, string | number | undefined>>): string {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
    .join('');
}

/** What XML 1.0 cannot hold in any form: most control characters, halves of surrogate pairs, U+FFFE and U+FFFF. */
const impossible = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

/** A line break or a tab would become a blank in an attribute. */
function escapeXml(text: string): string {
  return text.replaceAll(impossible, '').replaceAll(/[&<>"'\t\n\r]/g, (found) => `&#${found.charCodeAt(0)};`);
}
