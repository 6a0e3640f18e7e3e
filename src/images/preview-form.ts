/** How a terminal can show a picture. */
export type PreviewForm = 'kitty' | 'iterm2' | 'blocks' | 'none';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * What the terminal can, as far as the environment tells. tmux and screen get blocks: they pass pictures on only where
 * they are told to, and forget them when they draw anew. No colour (NO_COLOR, a dumb terminal): no picture.
 */
export function previewForm(env: Environment): PreviewForm {
  const term = env['TERM'] ?? '';
  const program = env['TERM_PROGRAM'] ?? '';
  const inMultiplexer = isSet(env['TMUX']) || isSet(env['STY']) || /^(tmux|screen)/.test(term);
  if (!inMultiplexer) {
    if (isSet(env['KITTY_WINDOW_ID']) || term === 'xterm-kitty' || term === 'xterm-ghostty' || program === 'ghostty')
      return 'kitty';
    if (['iTerm.app', 'WezTerm', 'mintty'].includes(program) || env['LC_TERMINAL'] === 'iTerm2') return 'iterm2';
  }
  return term === 'dumb' || isSet(env['NO_COLOR']) ? 'none' : 'blocks';
}

/** Whether the terminal says that it has 24-bit colour; else it gets the palette of 256. */
export function hasTrueColor(env: Environment): boolean {
  return (
    /^(truecolor|24bit)$/i.test(env['COLORTERM'] ?? '') ||
    isSet(env['WT_SESSION']) ||
    (env['TERM'] ?? '').endsWith('-direct')
  );
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}
