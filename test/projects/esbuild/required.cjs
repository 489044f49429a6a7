module.exports = require("conclave");
