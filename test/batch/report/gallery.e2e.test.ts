import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test as plain } from 'vitest';
import { escapeHtml, galleryCard, galleryHead, toRelativeLink } from '../../../src/cli/commands/batch/gallery-html.ts';
import { hostile, makeGallery } from './hostile-batch.ts';
import { manyJobs, test } from '../with-batch.ts';

describe('the page', () => {
  plain.each(hostile)('takes %j for text', (text) => {
    const card = galleryCard({
      id: text,
      state: 'failed',
      prompt: text,
      text,
      error: { class: text, message: text },
      images: [toRelativeLink(`images/${text}`)],
      command: text,
    });
    const tags = [...card.matchAll(/<\/?([a-z]+)([^>]*)>/g)].map(([, name, attributes]) => `${name}${attributes}`);
    const known =
      /^(article class="failed"|article|a href="\.\/images\/[^"'<>]*"|a|img src="\.\/images\/[^"'<>]*" alt="\.\/images\/[^"'<>]*" loading="lazy"|code|strong|bdi|p class="(prompt|text|error)"|p)$/;
    expect(tags.filter((tag) => !known.test(tag))).toEqual([]);
    expect(card).not.toContain('\u0000');
    expect(card).not.toContain('\u001b');
  });

  plain('has links that stay relative', () => {
    expect(toRelativeLink('/evil.example/x')).toBe('./evil.example/x');
    expect(toRelativeLink('//evil.example/x')).toBe('./evil.example/x');
    expect(toRelativeLink('javascript:alert(1)')).toBe('./javascript%3Aalert(1)');
    expect(toRelativeLink('../images/a b#?.png')).toBe('./../images/a%20b%23%3F.png');
  });

  plain('allows no network, no frame and no script', () => {
    const head = galleryHead({ title: 'out', summary: '1 done' });
    const policy = /content="(default-src[^"]*)"/.exec(head)?.[1] ?? '';
    expect(policy.replaceAll(/sha256-[^']+/g, 'hash').split('; ')).toEqual([
      "default-src 'none'",
      "img-src 'self' file:",
      "style-src 'hash'",
      "form-action 'none'",
      "base-uri 'none'",
    ]);
    expect(head).not.toMatch(/https?:/);
  });

  plain('escapes what HTML gives a meaning to', () => {
    expect(escapeHtml(`a<b>&"'\``)).toBe('a&#60;b&#62;&#38;&#34;&#39;&#96;');
    expect(escapeHtml('tab\tline\nä€😀')).toBe('tab\tline\nä€😀');
  });
});

describe('batch gallery', () => {
  test('links the pictures beside it, which are loaded when they are looked at', async ({ folder }) => {
    expect(await makeGallery(folder.cwd)).toMatchObject({ code: 0, stdout: `${join('out', 'index.html')}\n` });
    const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
    expect(page).toContain('<img src="./images/lighthouse.png" alt="./images/lighthouse.png" loading="lazy">');
    expect(page).toContain('a lighthouse at dusk');
    expect(page).toContain('no-result: no image came');
    expect(page).not.toMatch(/(src|href)="(?!\.\/images\/)/);
    expect(page).toContain(`<p>${hostile.length + 1} done, 1 failed</p>`);
    expect(page.match(/<article/g)).toHaveLength(hostile.length + 2);
  });

  test('has the cards in the order of the jobs, each with its last result', async ({ server, folder, batch }) => {
    let release = (): void => undefined;
    const others = new Promise<void>((resolve) => (release = resolve));
    let ended = 0;
    server.answer = (prompt, count) => {
      if (prompt === 'p1' && count === 1) return { after: others, status: 400, body: {} };
      if (++ended === 5) release();
      return undefined;
    };
    folder.jobs(...manyJobs(6));
    await batch();
    expect(folder.lines('results.jsonl')[0]).not.toMatchObject({ id: 'p1' });
    const idsOf = async () => {
      await batch(['gallery', 'out']);
      const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
      return [...page.matchAll(/<article class="(\w+)".*?<strong><bdi>(\w+)</g)].map(
        ([, state, id]) => `${id} ${state}`,
      );
    };
    const rest = ['p2 done', 'p3 done', 'p4 done', 'p5 done', 'p6 done'];
    expect(await idsOf()).toEqual(['p1 failed', ...rest]);
    await batch(['--retry', 'failed']);
    expect(await idsOf()).toEqual(['p1 done', ...rest]);
  });

  test('reports what cannot be read in the results', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(1));
    await batch();
    appendFileSync(join(folder.cwd, 'out/results.jsonl'), 'not JSON\n');
    expect((await batch(['gallery', 'out'])).stderr).toContain('1 line of results.jsonl cannot be read');
  });

  test('shows jobs that were sent and have no answer', async ({ folder, batch }) => {
    folder.jobs(...manyJobs(2));
    await batch();
    folder.loseEnds('p2');
    await batch(['gallery', 'out']);
    const page = readFileSync(join(folder.cwd, 'out/index.html'), 'utf8');
    expect(page).toContain('<article class="unknown">');
    expect(page).toContain('1 unknown (may have been billed)');
  });
});
