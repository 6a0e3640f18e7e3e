// Puts what a release needs into a folder: the tarball to publish, its notes, and the Homebrew formula that installs it.
//   node .scripts/release.js <folder>
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node .scripts/release.js <folder>');
  process.exit(2);
}

const run = (command, ...argv) => execFileSync(command, argv, { cwd: root, encoding: 'utf8' }).trim();
const { name, version, description, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

mkdirSync(folder, { recursive: true });
// Built by the pack itself: `prepack`.
const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--pack-destination', folder));
const tarball = readFileSync(join(folder, filename));
writeFileSync(join(folder, 'notes.md'), notes());
writeFileSync(join(folder, `${name}.rb`), formula(createHash('sha256').update(tarball).digest('hex')));

/** The subjects of the commits since the last release that changed what is in the package, the newest first. */
function notes() {
  const earlier = run('git', 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n');
  const last = earlier.find((tag) => tag !== '' && tag !== `v${version}`);
  const head = `# ${name} ${version}\n\n`;
  if (last === undefined) return `${head}The first release. ${description}.\n`;
  const subjects = run('git', 'log', '--format=- %s', `${last}..HEAD`, '--', 'src', 'bin', 'package.json', 'README.md');
  return `${head}Changes since ${last.slice(1)}:\n\n${subjects}\n`;
}

function formula(sha256) {
  const className = name.replace(/(^|-)(\w)/g, (_, dash, letter) => letter.toUpperCase());
  return `class ${className} < Formula
  desc "Text, images and chat from generation services on the command-line"
  homepage "https://www.npmjs.com/package/${name}"
  url "https://registry.npmjs.org/${name}/-/${filename}"
  sha256 "${sha256}"
  license "${license}"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    system bin/"${name}", "image", "gen", "--offline", "a cat", "-o", "cat.png"
    assert_path_exists testpath/"cat.png"
  end
end
`;
}
