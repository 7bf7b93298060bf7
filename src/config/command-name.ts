// How this program was called, for commands that are printed to be copied: in a checkout `postern` is not on the path, but it
// is a script of package.json.

export function commandName(): string {
  const { npm_package_name: project, npm_lifecycle_event: script } = process.env;
  return project === 'postern' && script === 'postern' ? 'npm run postern --' : 'postern';
}
