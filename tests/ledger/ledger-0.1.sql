BEGIN TRANSACTION;
CREATE TABLE accounts (
	dataset INTEGER NOT NULL, 
	analyst VARCHAR(200) NOT NULL, 
	budget TEXT, 
	spent TEXT NOT NULL, 
	PRIMARY KEY (dataset, analyst), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
INSERT INTO "accounts" VALUES(1,'ana',NULL,'{"conditional":"0","conditions":[],"delta":"0","epsilon":"99108027750247771/100000000000000000000","located":{"differential":"1/5","sensitive":"8/15"},"rho":"0","sensitive":"0","unit":"add_remove","zones":[{"columns":["age","bmi"],"metric":"euclidean","radius":5.0,"tau":2}]}');
INSERT INTO "accounts" VALUES(1,'ben','{"conditional":"1/2","delta":"0","differential":"1/2","sensitive":"1/2"}','{"conditional":"0","conditions":[],"delta":"0","epsilon":"1/10","located":{"differential":"1/7","sensitive":"1/7"},"rho":"0","sensitive":"0","unit":"add_remove","zones":[]}');
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE datasets (
	id INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	seq INTEGER NOT NULL, 
	head VARCHAR(64) NOT NULL, 
	budget TEXT NOT NULL, 
	policy TEXT NOT NULL, 
	spent TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "datasets" VALUES(1,'clinic',18,'db53ba482e23cdb2cac128df519cf2b8e4c01ef929e7ecf3256d59c1260a1fa1','{"conditional":"3","delta":"0","differential":"3","sensitive":"3"}','{"max_epsilon":"1/2","notions":["differential","sensitive"],"unit":"add_remove"}','{"conditional":"0","conditions":[],"delta":"0","epsilon":"10099108027750247771/100000000000000000000","located":{"differential":"1/5","sensitive":"8/15"},"rho":"0","sensitive":"0","unit":"add_remove","zones":[{"columns":["age","bmi"],"metric":"euclidean","radius":5.0,"tau":2}]}');
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
INSERT INTO "entries" VALUES(1,1,'open','2026-11-15T23:57:16.217559+00:00','','',NULL,'{"budget":{"conditional":"2","delta":"0","differential":"2","sensitive":"2"},"policy":{"max_epsilon":"1/2","notions":["differential","sensitive"],"unit":"add_remove"},"unit":"add_remove"}','0000000000000000000000000000000000000000000000000000000000000000','debc0194e4d32a453cde145156aeaa9d70765908ab405a6427afc3b07b6ca72b');
INSERT INTO "entries" VALUES(1,2,'reserve','2026-11-15T23:57:16.530718+00:00','ana','899eed03511eaec168b2675793d89673a56deed9001cc5ab20f16bebae55cd7a',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"1/10"},"dataset":{"differential":"1/10","sensitive":"1/10"}},"location":{"card":"9d075b8c951ede93d5e943a1c3f2188d","center":[20.0],"columns":["age"],"metric":"euclidean","radius":5.0,"ranges":[]},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","question":{"epsilon":"1/10","floor":"1/1000000000000","model":{"beta":2,"metric":"euclidean","radius":5.0},"record":{"age":20}}}}','debc0194e4d32a453cde145156aeaa9d70765908ab405a6427afc3b07b6ca72b','69d11cf27add263e4917f8ca793404e1a0af28ff74ff75f712d9a2d189f78edf');
INSERT INTO "entries" VALUES(1,3,'settle','2026-11-15T23:57:16.585323+00:00','ana','899eed03511eaec168b2675793d89673a56deed9001cc5ab20f16bebae55cd7a',2,'{"answer":true}','69d11cf27add263e4917f8ca793404e1a0af28ff74ff75f712d9a2d189f78edf','df704cd74ffa3df376d8a86bd0a111c57e083b55222e4c380a6ad667d21bc173');
INSERT INTO "entries" VALUES(1,4,'reserve','2026-11-15T23:57:16.614477+00:00','ana','c5ea5322518f731c96f9b4bcaea7ea38d8c1102ad8b501f7adc0774d85131bc0',NULL,'{"extra":{"analyst":{"differential":"1/10","sensitive":"1/10"},"dataset":{"differential":"1/10","sensitive":"1/10"}},"location":{"card":"9d075b8c951ede93d5e943a1c3f2188d","center":[24.0],"columns":["age"],"metric":"euclidean","radius":5.0,"ranges":[]},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","question":{"epsilon":"1/10","floor":"1/1000000000000","model":{"beta":2,"metric":"euclidean","radius":5.0},"record":{"age":24}}}}','df704cd74ffa3df376d8a86bd0a111c57e083b55222e4c380a6ad667d21bc173','ba758cba15346dce6e9c70ef18a393de0c34b1b4161e1948337db5b8bff4e39c');
INSERT INTO "entries" VALUES(1,5,'settle','2026-11-15T23:57:16.652957+00:00','ana','c5ea5322518f731c96f9b4bcaea7ea38d8c1102ad8b501f7adc0774d85131bc0',4,'{"answer":true}','ba758cba15346dce6e9c70ef18a393de0c34b1b4161e1948337db5b8bff4e39c','7eb6e79c25aba9808ef41a2c3b453f2dd2a882f6e17b9197ca36008164cf85e1');
INSERT INTO "entries" VALUES(1,6,'reserve','2026-11-15T23:57:16.717152+00:00','ana','a422dea01e6267076411655a8d6837b6e28f7741373ecd49f19ffc1c9384c898',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"0"},"dataset":{"differential":"0","sensitive":"0"}},"location":{"card":"9d075b8c951ede93d5e943a1c3f2188d","center":[99.0],"columns":["age"],"metric":"euclidean","radius":5.0,"ranges":[]},"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","question":{"epsilon":"1/10","floor":"1/1000000000000","model":{"beta":2,"metric":"euclidean","radius":5.0},"record":{"age":99}}}}','7eb6e79c25aba9808ef41a2c3b453f2dd2a882f6e17b9197ca36008164cf85e1','0f55fa237e3fe2c990aec6e4da368f714dc6cb66e36193029bb71aa7461b20d4');
INSERT INTO "entries" VALUES(1,7,'settle','2026-11-15T23:57:16.757771+00:00','ana','a422dea01e6267076411655a8d6837b6e28f7741373ecd49f19ffc1c9384c898',6,'{"answer":false}','0f55fa237e3fe2c990aec6e4da368f714dc6cb66e36193029bb71aa7461b20d4','3a166bac44d6e04ef1f6e5ef592c6202921f176e89f683b44546e1e65022d61f');
INSERT INTO "entries" VALUES(1,8,'reserve','2026-11-15T23:57:16.789447+00:00','ana','63736f2dbf5ca311705dbd2b4eac168a7b47c26e23b76ac8baf3267e0c3a3683',NULL,'{"extra":{"analyst":{"differential":"0","sensitive":"1/3"},"dataset":{"differential":"0","sensitive":"1/3"}},"location":{"card":"9d075b8c951ede93d5e943a1c3f2188d","center":[99.0,60.0],"columns":["age","bmi"],"metric":"euclidean","radius":5.0,"ranges":[]},"price":{"columns":["age","bmi"],"delta":"0","epsilon":"1/3","metric":"euclidean","notion":"sensitive","radius":5.0,"tau":2},"question":{"kind":"identify","question":{"epsilon":"1/3","floor":"1/1000000000000","k":1,"model":{"beta":2,"metric":"euclidean","radius":5.0},"notion":"sensitive","record":{"age":99,"bmi":60}}}}','3a166bac44d6e04ef1f6e5ef592c6202921f176e89f683b44546e1e65022d61f','d0a78ca2b8c5f8d7778a2483eefb11634efcb17f6a357400adc319e8a66f6d6c');
INSERT INTO "entries" VALUES(1,9,'settle','2026-11-15T23:57:16.833271+00:00','ana','63736f2dbf5ca311705dbd2b4eac168a7b47c26e23b76ac8baf3267e0c3a3683',8,'{"answer":true}','d0a78ca2b8c5f8d7778a2483eefb11634efcb17f6a357400adc319e8a66f6d6c','6cf2869b68b40d0ff5fe2f4f8b52dded577dde38b62b27dd7c41a8be4934c36a');
INSERT INTO "entries" VALUES(1,10,'reserve','2026-11-15T23:57:17.310679+00:00','ana','bf6b82e2d708624cea3c22348db328d374a00cb85881f93409ac111aa2d9e233',NULL,'{"location":null,"price":{"delta":"0","epsilon":"1/1009","notion":"differential","unit":"add_remove"},"question":{"kind":"count","question":{"columns":["age"],"crowding":4,"delta":"0","epsilon":"1/1009","mechanism":"auto","model":{"beta":2,"metric":"euclidean","radius":5.0},"normalised":false,"raw":false,"relation":"add_remove"}}}','6cf2869b68b40d0ff5fe2f4f8b52dded577dde38b62b27dd7c41a8be4934c36a','5e1a721f6a009d13c090a73e67060721f1301c413ac46291c722cf5409f7aea1');
INSERT INTO "entries" VALUES(1,11,'settle','2026-11-15T23:57:17.367956+00:00','ana','bf6b82e2d708624cea3c22348db328d374a00cb85881f93409ac111aa2d9e233',10,'{"answer":866}','5e1a721f6a009d13c090a73e67060721f1301c413ac46291c722cf5409f7aea1','42c5c9ebbbe9b06e21e1c6a7dd9fbf42d93f08d7d6ab80149af5997b80b45b14');
INSERT INTO "entries" VALUES(1,12,'allow','2026-11-15T23:57:17.370548+00:00','ben','',NULL,'{"budget":{"conditional":"1/2","delta":"0","differential":"1/2","sensitive":"1/2"},"reason":"a thesis"}','42c5c9ebbbe9b06e21e1c6a7dd9fbf42d93f08d7d6ab80149af5997b80b45b14','2abe2e3fcb572952f1fc73f229c090f73e4d06789bb2cb494e2c1977f31b19d0');
INSERT INTO "entries" VALUES(1,13,'reserve','2026-11-15T23:57:17.378043+00:00','ben','bec20abcec566e6be6a0b33479943633014e2c685dc8d7d6270e2f28b9ff1eed',NULL,'{"extra":{"analyst":{"differential":"1/7","sensitive":"1/7"},"dataset":{"differential":"0","sensitive":"0"}},"location":{"card":"9d075b8c951ede93d5e943a1c3f2188d","center":[50.0],"columns":["age"],"metric":"euclidean","radius":5.0,"ranges":[]},"price":{"delta":"0","epsilon":"1/7","notion":"differential","unit":"add_remove"},"question":{"kind":"screen","question":{"epsilon":"1/7","floor":"1/1000000000000","model":{"beta":2,"metric":"euclidean","radius":5.0},"record":{"age":50}}}}','2abe2e3fcb572952f1fc73f229c090f73e4d06789bb2cb494e2c1977f31b19d0','13cc01af14ea8e909058f7662136fadf2c837cae404e703e41af04402dedb927');
INSERT INTO "entries" VALUES(1,14,'settle','2026-11-15T23:57:17.432014+00:00','ben','bec20abcec566e6be6a0b33479943633014e2c685dc8d7d6270e2f28b9ff1eed',13,'{"answer":true}','13cc01af14ea8e909058f7662136fadf2c837cae404e703e41af04402dedb927','0242c882e82d416b48cafa76eeb5f9bd2fa2cc5e29824e184601ab4ea2ff3818');
INSERT INTO "entries" VALUES(1,15,'amend','2026-11-15T23:57:17.462646+00:00','','',NULL,'{"budget":{"conditional":"3","delta":"0","differential":"3","sensitive":"3"},"reason":"a vote"}','0242c882e82d416b48cafa76eeb5f9bd2fa2cc5e29824e184601ab4ea2ff3818','f822e7758556a6ca5684a9af041fe457d27db4a28c505693119e4361b51e4c17');
INSERT INTO "entries" VALUES(1,16,'reserve','2026-11-15T23:57:17.483632+00:00','ben','interrupted',NULL,'{"location":null,"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{}}','f822e7758556a6ca5684a9af041fe457d27db4a28c505693119e4361b51e4c17','50088491337b9dc0847f6a9fe31779e74fa960a1e805d8a40c6467458ccaeea3');
INSERT INTO "entries" VALUES(1,17,'reserve','2026-11-15T23:57:17.496612+00:00','ben','given back',NULL,'{"location":null,"price":{"delta":"0","epsilon":"1/10","notion":"differential","unit":"add_remove"},"question":{}}','50088491337b9dc0847f6a9fe31779e74fa960a1e805d8a40c6467458ccaeea3','abe3236b32c4f5b611d5d0482dc0df4495ca3695997e77d3af506bdcff66d291');
INSERT INTO "entries" VALUES(1,18,'void','2026-11-15T23:57:17.513196+00:00','ben','given back',17,'{"located":null,"reason":"never answered","reserve":17}','abe3236b32c4f5b611d5d0482dc0df4495ca3695997e77d3af506bdcff66d291','db53ba482e23cdb2cac128df519cf2b8e4c01ef929e7ecf3256d59c1260a1fa1');
CREATE TABLE publishers (
	dataset INTEGER NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	version INTEGER NOT NULL, 
	state TEXT NOT NULL, 
	PRIMARY KEY (dataset, name), 
	FOREIGN KEY(dataset) REFERENCES datasets (id)
);
CREATE INDEX entries_by_question ON entries (dataset, digest, seq);
COMMIT;
