// Puts the Homebrew formula into the folder of a release, beside the tarball for npm and the archives of the single executables: each system
// gets the executable that was made for it. Where there is none (Node makes none for Macs with Intel), or nobody knows where it will be
// published, Homebrew installs the tarball with its own Node.
//   node .scripts/formula.js <folder>
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const [folder] = argv.slice(2);
if (folder === undefined) {
  console.error('usage: node .scripts/formula.js <folder>');
  exit(2);
}
const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const place = join(root, '.github/repository');
const address = existsSync(place) ? readFileSync(place, 'utf8').trim() : '';
const className = name.replace(/(^|-)(\w)/g, (_, dash, letter) => letter.toUpperCase());

/** What one system downloads. */
function download(system) {
  const archive = `${name}-${version}-${system}.tar.gz`;
  const isThere = address !== '' && existsSync(join(folder, archive));
  const file = isThere ? archive : `${name}-${version}.tgz`;
  const url = isThere
    ? `${address}/releases/download/v${version}/${file}`
    : `https://registry.npmjs.org/${name}/-/${file}`;
  const sha256 = createHash('sha256')
    .update(readFileSync(join(folder, file)))
    .digest('hex');
  const lines = [`url "${url}"`, `sha256 "${sha256}"`, ...(isThere ? [] : ['depends_on "node"'])];
  return lines.map((line) => `      ${line}\n`).join('');
}

const systems = { macos: 'darwin', linux: 'linux' };
const blocks = Object.entries(systems).map(
  ([word, system]) => `  on_${word} do
    on_arm do
${download(`${system}-arm64`)}    end
    on_intel do
${download(`${system}-x64`)}    end
  end
`,
);
writeFileSync(
  join(folder, `${name}.rb`),
  `class ${className} < Formula
  desc "Text, images and chat from generation services on the command-line"
  homepage "${address === '' ? `https://www.npmjs.com/package/${name}` : address}"
  version "${version}"
  license "${license}"

${blocks.join('\n')}
  def install
    if File.exist?("package.json")
      system "npm", "install", *std_npm_args
      bin.install_symlink libexec.glob("bin/*")
    else
      bin.install "${name}"
      man1.install Dir["man/*.1"]
      bash_completion.install "completions/${name}.bash" => "${name}"
      zsh_completion.install "completions/_${name}"
      fish_completion.install "completions/${name}.fish"
    end
  end

  test do
    system bin/"${name}", "image", "gen", "--offline", "a cat", "-o", "cat.png"
    assert_path_exists testpath/"cat.png"
  end
end
`,
);
