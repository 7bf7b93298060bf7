// The name of this program in printed commands, so that they can be copied. In a checkout, it is the script ./postern.

export const commandName = () => process.env['POSTERN_COMMAND'] ?? 'postern';
