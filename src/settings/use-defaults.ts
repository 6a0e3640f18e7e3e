import type { AuthUse, Use } from './types.ts';

/** What a command of each use takes where nothing else is said. */
interface UseDefaults {
  /** Variables that name its model; the first that is set counts, the last is that of most uses. */
  variables: readonly string[];
  /** Whose model of a profile it takes where it has none of its own. */
  fallback: Use;
  /** The local gateway's model. */
  local: string;
  /** The row of a profile's `auth`. */
  auth: AuthUse;
  /** A command that needs no gateway. */
  example: string;
}

/** The defaults of every use. */
export const useDefaults: { [use in Use]: UseDefaults } = {
  text: {
    variables: ['GATEWAY_MODEL'],
    fallback: 'text',
    local: 'local-text',
    auth: 'text',
    example: "gateway-cli text --offline 'Hello'",
  },
  chat: {
    variables: ['GATEWAY_CHAT_MODEL', 'GATEWAY_MODEL'],
    fallback: 'text',
    local: 'local-chat',
    auth: 'messages',
    example: "gateway-cli chat --offline 'Hello'",
  },
  image: {
    variables: ['GATEWAY_IMAGE_MODEL'],
    fallback: 'image',
    local: 'local-image',
    auth: 'image',
    example: "gateway-cli image gen --offline 'a lighthouse'",
  },
  edit: {
    variables: ['GATEWAY_EDIT_MODEL', 'GATEWAY_IMAGE_MODEL'],
    fallback: 'image',
    local: 'local-edit',
    auth: 'image',
    example: "gateway-cli image edit --offline -i photo.png 'make it gray'",
  },
};
