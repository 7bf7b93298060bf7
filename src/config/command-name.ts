// How this program was called, for commands that are printed to be copied: in a checkout it is the script ./postern.

export const commandName = (): string => process.env['POSTERN_COMMAND'] ?? 'postern';
