// Where the views that come with the service are: views/ lies beside src/ and beside dist/ alike.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const BUILT_IN_FOLDER = path.join(path.dirname(fileURLToPath(import.meta.url)), '..', '..', 'views');
