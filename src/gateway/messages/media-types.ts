/** Image types that the messages format takes (wire.md 3). */
export const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
