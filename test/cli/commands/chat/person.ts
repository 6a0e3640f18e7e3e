import type { EditorOptions, LineEditor, LineRead } from '../../../../src/cli/terminal/line-editor.ts';

/** A person who types these entries, then Ctrl-D. `opened` receives the options of the editor. */
export function person(entries: readonly (string | LineRead)[], opened?: (options: EditorOptions) => void) {
  const queue = [...entries];
  const prompts: string[] = [];
  let interrupt: ((again: boolean) => void) | undefined;
  const editor: LineEditor = {
    async read(prompt) {
      prompts.push(prompt);
      const next = queue.shift() ?? { kind: 'end' };
      return typeof next === 'string' ? { kind: 'entry', text: next } : next;
    },
    onInterrupt: (listener) => void (interrupt = listener),
    close: () => undefined,
  };
  const openEditor = async (options: EditorOptions) => {
    opened?.(options);
    return editor;
  };
  return {
    prompts,
    interrupt: () => interrupt?.(false),
    options: { openEditor, tty: { stdout: true, stderr: true }, env: { CI: '1' } },
  };
}
