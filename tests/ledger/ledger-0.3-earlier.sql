BEGIN TRANSACTION;
CREATE TABLE accounts (
	dataset INTEGER NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	budget TEXT, 
	spent TEXT NOT NULL, 
	PRIMARY KEY (dataset, analyst), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "accounts" VALUES(1,'ben','{"conditional":"1","delta":"0","differential":"1","sensitive":"1"}','{"conditional":"0","conditions":[],"delta":"0","epsilon":"0","located":{"differential":"1/10","sensitive":"1/9"},"rho":"0","sensitive":"1/9","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]}');
INSERT INTO "accounts" VALUES(1,'ana',NULL,'{"conditional":"0","conditions":[],"delta":"0","epsilon":"1/5","located":{"differential":"1/5","sensitive":"19/90"},"rho":"0","sensitive":"0","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]}');
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0006');
CREATE TABLE balls (
	dataset INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	sheet VARCHAR(64) NOT NULL, 
	band INTEGER NOT NULL, 
	u FLOAT NOT NULL, 
	v FLOAT NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	everyone BOOLEAN NOT NULL, 
	epsilon TEXT NOT NULL, 
	location TEXT NOT NULL, 
	depths TEXT NOT NULL, 
	PRIMARY KEY (dataset, seq), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "balls" VALUES(1,3,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,0.0,0.0,'ben',1,'1/10','{"center":[0.0],"columns":["x"],"metric":"euclidean","radius":1.0}','1/10 1/10 1/10 1/10');
INSERT INTO "balls" VALUES(1,5,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,0.7,0.0,'ana',0,'1/9','{"center":[0.7],"columns":["x"],"metric":"euclidean","radius":1.0}','- 19/90 - 1/9');
INSERT INTO "balls" VALUES(1,7,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,1.4,0.0,'ana',1,'1/10','{"center":[1.4],"columns":["x"],"metric":"euclidean","radius":1.0}','1/5 14/45 1/10 19/90');
INSERT INTO "balls" VALUES(1,9,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,2.09999999999999964472e+00,0.0,'ben',0,'1/9','{"center":[2.0999999999999996],"columns":["x"],"metric":"euclidean","radius":1.0}','- 29/90 - 1/9');
INSERT INTO "balls" VALUES(1,11,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,2.8,0.0,'ana',1,'1/10','{"center":[2.8],"columns":["x"],"metric":"euclidean","radius":1.0}','1/5 14/45 1/5 1/5');
INSERT INTO "balls" VALUES(1,13,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,3.5,0.0,'ana',0,'1/9','{"center":[3.5],"columns":["x"],"metric":"euclidean","radius":1.0}','- 29/90 - 19/90');
INSERT INTO "balls" VALUES(1,25,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60',1,5.0,0.0,'ana',1,'1/10','{"center":[5.0],"columns":["x"],"metric":"euclidean","radius":1.0}','1/10 19/90 1/10 19/90');
CREATE TABLE datasets (
	id INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	seq INTEGER NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	budget TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	spent TEXT NOT NULL, 
	failures INTEGER DEFAULT '0' NOT NULL, 
	closure INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "datasets" VALUES(1,'clinic',25,'e7eb88ad8764535620b231a617a817d1cba1f5fca2b0c904e745d740697882de','{"conditional":"8","delta":"1/1000000","differential":"8","sensitive":"8"}','{"notions":["differential","sensitive"],"unit":"add_remove"}','{"conditional":"0","conditions":[],"delta":"0","epsilon":"1/5","located":{"differential":"1/5","sensitive":"29/90"},"rho":"0","sensitive":"1/9","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]}',0,0);
CREATE TABLE entries (
	dataset INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	at VARCHAR(40) NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	closes INTEGER, 
	body TEXT NOT NULL, 
	previous VARCHAR(64) NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (dataset, seq), 
	CONSTRAINT closed_once UNIQUE (dataset, closes), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "entries" VALUES(1,1,'open','2026-11-19T02:06:55.476705+00:00','','',NULL,'{"budget":{"conditional":"8","delta":"1/1000000","differential":"8","sensitive":"8"},"policy":{"notions":["differential","sensitive"],"unit":"add_remove"},"unit":"add_remove"}','0000000000000000000000000000000000000000000000000000000000000000','1a4db6fdccf32ae35d0903c90da81639278aec845f2cbf812850ed989ef7d745');
INSERT INTO "entries" VALUES(1,2,'allow','2026-11-19T02:06:55.490158+00:00','ben','',NULL,'{"budget":{"conditional":"1","delta":"0","differential":"1","sensitive":"1"},"reason":"a share"}','1a4db6fdccf32ae35d0903c90da81639278aec845f2cbf812850ed989ef7d745','3b5e3361f1605afd4ec6652e2e2e595a5577ba2de26aef7e5a37479e4577d4fc');
INSERT INTO "entries" VALUES(1,3,'reserve','2026-11-19T02:06:55.636975+00:00','ben','place 0',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"1/10"},"dataset":{"differential":"1/10","sensitive":"1/10"}},"location":{"center":[0.0],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"place 0"}}','3b5e3361f1605afd4ec6652e2e2e595a5577ba2de26aef7e5a37479e4577d4fc','94c9e3739f775d4c5d9ff2d56496f74cc3ad5db8b5816cc43e50d4cac074806e');
INSERT INTO "entries" VALUES(1,4,'settle','2026-11-19T02:06:55.665223+00:00','ben','place 0',3,'{"answer":{"answer":"place 0"}}','94c9e3739f775d4c5d9ff2d56496f74cc3ad5db8b5816cc43e50d4cac074806e','5fd00f7ac11846324265760b4af3ba18e418877ed2c5b6d9a33ce95f67baa929');
INSERT INTO "entries" VALUES(1,5,'reserve','2026-11-19T02:06:55.698110+00:00','ana','place 1',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"1/9"},"dataset":{"differential":"0","sensitive":"1/9"}},"location":{"center":[0.7],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"columns":[],"delta":"0","epsilon":"1/9","metric":"euclidean","notion":"sensitive","radius":1.0,"tau":5},"question":{"kind":"screen","number":"place 1"}}','5fd00f7ac11846324265760b4af3ba18e418877ed2c5b6d9a33ce95f67baa929','65759179cac7325e8547f19305171c8a30a582ef3160f7707281bc8840aa2b38');
INSERT INTO "entries" VALUES(1,6,'settle','2026-11-19T02:06:55.719862+00:00','ana','place 1',5,'{"answer":{"answer":"place 1"}}','65759179cac7325e8547f19305171c8a30a582ef3160f7707281bc8840aa2b38','2109f0e794b20af49f96436be3a99062e2e6cced31bfb966300aff9a6a160661');
INSERT INTO "entries" VALUES(1,7,'reserve','2026-11-19T02:06:55.744804+00:00','ana','place 2',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"1/10"},"dataset":{"differential":"1/10","sensitive":"1/10"}},"location":{"center":[1.4],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"place 2"}}','2109f0e794b20af49f96436be3a99062e2e6cced31bfb966300aff9a6a160661','1a14c18ac759a074ffe67f7302be2e756f53d8b925be74f34bb0e1d6316f9748');
INSERT INTO "entries" VALUES(1,8,'settle','2026-11-19T02:06:55.747681+00:00','ana','place 2',7,'{"answer":{"answer":"place 2"}}','1a14c18ac759a074ffe67f7302be2e756f53d8b925be74f34bb0e1d6316f9748','d37b2aa769d5d1efa8e1adf10107ae3b075e727a41c6cded693f28afee6eee9c');
INSERT INTO "entries" VALUES(1,9,'reserve','2026-11-19T02:06:55.768857+00:00','ben','place 3',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"1/90"},"dataset":{"differential":"0","sensitive":"1/90"}},"location":{"center":[2.0999999999999996],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"columns":[],"delta":"0","epsilon":"1/9","metric":"euclidean","notion":"sensitive","radius":1.0,"tau":5},"question":{"kind":"screen","number":"place 3"}}','d37b2aa769d5d1efa8e1adf10107ae3b075e727a41c6cded693f28afee6eee9c','c8b460c8052fcb8960e520ce3aa4e640a8209646aee55ef8a42e56faa8f115b7');
INSERT INTO "entries" VALUES(1,10,'settle','2026-11-19T02:06:55.791572+00:00','ben','place 3',9,'{"answer":{"answer":"place 3"}}','c8b460c8052fcb8960e520ce3aa4e640a8209646aee55ef8a42e56faa8f115b7','d8af504f81c93f4940e0d261ac121449b1279f9dc4d3bee33555f1cba06c970b');
INSERT INTO "entries" VALUES(1,11,'reserve','2026-11-19T02:06:55.808594+00:00','ana','place 4',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"0"},"dataset":{"differential":"0","sensitive":"0"}},"location":{"center":[2.8],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"place 4"}}','d8af504f81c93f4940e0d261ac121449b1279f9dc4d3bee33555f1cba06c970b','06ccbcfad1670312d0c9db3c753c5588cafc122bd35e0b36dc1ce1ec73b82274');
INSERT INTO "entries" VALUES(1,12,'settle','2026-11-19T02:06:55.855803+00:00','ana','place 4',11,'{"answer":{"answer":"place 4"}}','06ccbcfad1670312d0c9db3c753c5588cafc122bd35e0b36dc1ce1ec73b82274','4e14a7da69516ecb184ad286b173e02522ded051a4559e7528bdd8db99b9b6cc');
INSERT INTO "entries" VALUES(1,13,'reserve','2026-11-19T02:06:55.857368+00:00','ana','place 5',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"0"},"dataset":{"differential":"0","sensitive":"0"}},"location":{"center":[3.5],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"columns":[],"delta":"0","epsilon":"1/9","metric":"euclidean","notion":"sensitive","radius":1.0,"tau":5},"question":{"kind":"screen","number":"place 5"}}','4e14a7da69516ecb184ad286b173e02522ded051a4559e7528bdd8db99b9b6cc','19a7ee2df3400eadcb05d0bcf3804aee70809968d992c32cad9540b9143fbaa5');
INSERT INTO "entries" VALUES(1,14,'settle','2026-11-19T02:06:55.866435+00:00','ana','place 5',13,'{"answer":{"answer":"place 5"}}','19a7ee2df3400eadcb05d0bcf3804aee70809968d992c32cad9540b9143fbaa5','4eb666507eb76ab90191b4c761a9c37ea34fdd506f693cb78db9f4af4bf66e46');
INSERT INTO "entries" VALUES(1,15,'reserve','2026-11-19T02:06:55.873480+00:00','ana','count',NULL,'{"location":null,"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"count"}}','4eb666507eb76ab90191b4c761a9c37ea34fdd506f693cb78db9f4af4bf66e46','400b5b09a55cbcbf5148dcb2bccf04df13c5dc530b857045bcdbe4256b5e9536');
INSERT INTO "entries" VALUES(1,16,'settle','2026-11-19T02:06:55.877557+00:00','ana','count',15,'{"answer":{"answer":"count"}}','400b5b09a55cbcbf5148dcb2bccf04df13c5dc530b857045bcdbe4256b5e9536','3e9088c78ba7a2eb761daf8573be968a2997412cf70884aec2ffb76df8964819');
INSERT INTO "entries" VALUES(1,17,'reserve','2026-11-19T02:06:55.880768+00:00','ben','rate',NULL,'{"location":null,"price":{"columns":[],"delta":"0","epsilon":"1/9","metric":"euclidean","notion":"sensitive","radius":1.0,"tau":5},"question":{"kind":"screen","number":"rate"}}','3e9088c78ba7a2eb761daf8573be968a2997412cf70884aec2ffb76df8964819','11582155c77c48b68a174683ed9eee71a9aa1350f1d358d310562b911679a8a2');
INSERT INTO "entries" VALUES(1,18,'settle','2026-11-19T02:06:55.885797+00:00','ben','rate',17,'{"answer":{"answer":"rate"}}','11582155c77c48b68a174683ed9eee71a9aa1350f1d358d310562b911679a8a2','c8223467e17af8af07bdc8df84b6d659608647249f212ca0f2fbe405dbbd9f15');
INSERT INTO "entries" VALUES(1,19,'reserve','2026-11-19T02:06:55.890675+00:00','ana','given back',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"1/10"},"dataset":{"differential":"1/10","sensitive":"1/10"}},"location":{"center":[1.0],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"given back"}}','c8223467e17af8af07bdc8df84b6d659608647249f212ca0f2fbe405dbbd9f15','96d4d16f100ba0d12f0046f8527f17183c08e3ebf667a956e415df6ae7eee7c2');
INSERT INTO "entries" VALUES(1,20,'void','2026-11-19T02:06:55.908797+00:00','ana','given back',19,'{"located":{"analyst":{"differential":"1/5","sensitive":"19/90"},"dataset":{"differential":"1/5","sensitive":"29/90"}},"reason":"never answered","reserve":19}','96d4d16f100ba0d12f0046f8527f17183c08e3ebf667a956e415df6ae7eee7c2','daf25275e8cf8f4bfb7e35eb834c281b87d13383f3adbca09278bc0b38ffc364');
INSERT INTO "entries" VALUES(1,21,'reserve','2026-11-19T02:06:55.910820+00:00','ana','failed',NULL,'{"location":null,"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"failed"}}','daf25275e8cf8f4bfb7e35eb834c281b87d13383f3adbca09278bc0b38ffc364','2ba1ad7f3aa2fac5c38d09b25116ccd338e03d7f80812085274e43ba38ffcabe');
INSERT INTO "entries" VALUES(1,22,'fail','2026-11-19T02:06:55.919571+00:00','ana','failed',21,'{}','2ba1ad7f3aa2fac5c38d09b25116ccd338e03d7f80812085274e43ba38ffcabe','84713c64de57c8b38d2ff4df825d3f06505cd65c915d8825527ec32a1c26cf90');
INSERT INTO "entries" VALUES(1,23,'review','2026-11-19T02:06:55.934743+00:00','ana','failed',22,'{"reason":"looked"}','84713c64de57c8b38d2ff4df825d3f06505cd65c915d8825527ec32a1c26cf90','b0e3b97176e07b0f64203129622ff327fc08716fda2ca6ddc68c229f052616fa');
INSERT INTO "entries" VALUES(1,24,'checkpoint','2026-11-19T02:06:55.965584+00:00','','',NULL,'{"state":{"balls":"37a768648f09e54d2780b41df81df7c4bde168f406f7c449a24192e26e46c772","budget":{"conditional":"8","delta":"1/1000000","differential":"8","sensitive":"8"},"failed":{"23":21},"fingerprints":[],"for_some":true,"policy":"{\"notions\":[\"differential\",\"sensitive\"],\"unit\":\"add_remove\"}","shares":{"ana":{"budget":null,"spent":{"conditional":"0","conditions":[],"delta":"0","epsilon":"1/5","located":{"differential":"1/5","sensitive":"19/90"},"rho":"0","sensitive":"0","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]}},"ben":{"budget":{"conditional":"1","delta":"0","differential":"1","sensitive":"1"},"spent":{"conditional":"0","conditions":[],"delta":"0","epsilon":"0","located":{"differential":"1/10","sensitive":"1/9"},"rho":"0","sensitive":"1/9","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]}}},"spent":{"conditional":"0","conditions":[],"delta":"0","epsilon":"1/5","located":{"differential":"1/5","sensitive":"29/90"},"rho":"0","sensitive":"1/9","unit":"add_remove","zones":[{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}]},"terms":{"ana":{"{\"zone\":{\"columns\":[],\"metric\":\"euclidean\",\"radius\":1.0,\"tau\":5}}":2},"ben":{"{\"zone\":{\"columns\":[],\"metric\":\"euclidean\",\"radius\":1.0,\"tau\":5}}":2}},"unreviewed":[],"waiting":[]}}','b0e3b97176e07b0f64203129622ff327fc08716fda2ca6ddc68c229f052616fa','964d21157b50252bad972d9c82440ac2d5a92c84ff9540a0d56b6a96e5cbef4c');
INSERT INTO "entries" VALUES(1,25,'reserve','2026-11-19T02:06:55.967064+00:00','ana','interrupted',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"0"},"dataset":{"differential":"0","sensitive":"0"}},"location":{"center":[5.0],"columns":["x"],"metric":"euclidean","radius":1.0},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","number":"interrupted"}}','964d21157b50252bad972d9c82440ac2d5a92c84ff9540a0d56b6a96e5cbef4c','e7eb88ad8764535620b231a617a817d1cba1f5fca2b0c904e745d740697882de');
CREATE TABLE publishers (
	dataset INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	version INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	fingerprints TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (dataset, name), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "publishers" VALUES(1,'publication',0,'{"noise":3}',' 0aa2c6c1355b3ea85b67b6631125aa9c40ef0762e7a25181448cb2306766a3ac');
CREATE TABLE sheets (
	dataset INTEGER NOT NULL, 
	sheet VARCHAR(64) NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	version INTEGER NOT NULL, 
	bands TEXT NOT NULL, 
	differential TEXT NOT NULL, 
	sensitive TEXT NOT NULL, 
	PRIMARY KEY (dataset, sheet, analyst), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "sheets" VALUES(1,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60','',9,'1','1/5','29/90');
INSERT INTO "sheets" VALUES(1,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60','ben',4,'1','1/10','1/9');
INSERT INTO "sheets" VALUES(1,'615491d4eef4e699900fc8acebbfea675e693ad851624ce6fbca1ad0a6f06b60','ana',8,'1','1/5','19/90');
CREATE TABLE terms (
	dataset INTEGER NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	term TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	PRIMARY KEY (dataset, analyst, digest), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "terms" VALUES(1,'ana','523935713b186ed379b726620ace7023765eb5a2b7a81c1b54d5892326a9c4d0','{"zone":{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}}',2);
INSERT INTO "terms" VALUES(1,'ben','523935713b186ed379b726620ace7023765eb5a2b7a81c1b54d5892326a9c4d0','{"zone":{"columns":[],"metric":"euclidean","radius":1.0,"tau":5}}',2);
CREATE TABLE unsettled (
	dataset INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	epoch INTEGER NOT NULL, 
	holder VARCHAR(20) DEFAULT '' NOT NULL, 
	PRIMARY KEY (dataset, seq), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "unsettled" VALUES(1,25,1,'');
CREATE TABLE witness (
	ledger VARCHAR(64) NOT NULL, 
	address TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	public VARCHAR(64) NOT NULL, 
	seconds INTEGER NOT NULL, 
	PRIMARY KEY (ledger)
);
CREATE INDEX entries_by_analyst ON entries (dataset, analyst, seq);
CREATE INDEX entries_failed ON entries (dataset, seq) WHERE kind IN ('fail', 'halt');
CREATE INDEX entries_by_question ON entries (dataset, digest, seq);
CREATE INDEX balls_by_place ON balls (dataset, sheet, band, u, v);
CREATE INDEX balls_by_depth ON balls (dataset, sheet, analyst, depths);
COMMIT;
