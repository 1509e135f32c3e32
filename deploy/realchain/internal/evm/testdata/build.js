// Rebuilds TestToken.hex and TestToken.abi.json from TestToken.sol. See README.md.
const fs = require('fs');
const path = require('path');
const solc = require('solc');

const at = (name) => path.join(__dirname, name);
const input = {
  language: 'Solidity',
  sources: { 'TestToken.sol': { content: fs.readFileSync(at('TestToken.sol'), 'utf8') } },
  settings: {
    evmVersion: 'paris',
    optimizer: { enabled: true, runs: 200 },
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
  },
};
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const problem of output.errors || []) {
  console.error(problem.formattedMessage);
  if (problem.severity === 'error') process.exit(1);
}
const contract = output.contracts['TestToken.sol'].TestToken;
fs.writeFileSync(at('TestToken.hex'), contract.evm.bytecode.object + '\n');
fs.writeFileSync(at('TestToken.abi.json'), JSON.stringify(contract.abi, null, 2) + '\n');
console.log(solc.version());
