import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// The tests of the rooms that are mutated, those of replies and of a run, which go through all of them, and those that alone read
// pixels and lists of models; nothing that starts programs.
const rooms =
  '{library/{formats,transport,client,images,files,cost,scan,recovery},cli/{settings,run,commands/models},batch,replies,gateway/images}';

// The first failure ends the run of a mutant: files that failed last time come first, then the quickest.
class LikelyFailureFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((a, b) => this.cost(a) - this.cost(b));
  }

  private cost(file: TestSpecification): number {
    const last = this.ctx.cache.getFileTestResults(`:${relative(this.ctx.config.root, file.moduleId)}`);
    return last && !last.failed ? last.duration : 0;
  }
}

export default defineConfig({
  test: {
    root: join(import.meta.dirname, '../..'),
    include: [`test/${rooms}/**/*.test.ts`],
    // One file sets the umask of the process, which a thread cannot.
    exclude: ['**/*.{e2e,full}.test.ts', 'test/cli/settings/file.test.ts', '**/node_modules/**'],
    // Files share what they import, as in the quick suite: most of a mutant's time was loading it again.
    isolate: false,
    sequence: { sequencer: LikelyFailureFirst },
    unstubEnvs: true,
    setupFiles: ['test/helpers/setup.ts'],
    // A change that makes a test wait for ever costs as long; the slowest test takes two seconds on a quiet machine, and more than
    // thirty on a busy one while the code counts what runs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
